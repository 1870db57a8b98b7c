"""The command `atlas`: finds the commands in `pipeline/commands`, and ends each with a sentence and an exit code.

Only the module of the command that was asked for is imported, all of them for the help; heavy libraries never are.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from pipeline import __version__, commands, text
from pipeline.errors import AtlasError

INTERRUPTED = 130

# The order of the help is that of the work: make a snapshot, read it, tend it.
HELP_ORDER = (
    *("refresh", "show", "inspect", "compare", "fit", "family", "sql", "snapshots", "diff"),
    *("guide", "site", "verify", "export", "measure", "schedule", "mcp", "doctor"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (by default this process's own) and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    _open_standard_files()
    _allow_any_text()
    try:
        # Without standalone mode the code of an early exit comes back as a value; a finished command gives None.
        code: int | None = application(arguments[0])(arguments, prog_name="atlas", standalone_mode=False)
    except typer.TyperException as error:
        return _report_usage(error)
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - the last place that can still end with a sentence
        return report(error, debug=False)
    return code or 0


def names() -> list[str]:
    """Name every command, in the order of the help; a module with a leading underscore is none."""
    found = [module.name for module in pkgutil.iter_modules(commands.__path__) if not module.name.startswith("_")]
    return sorted(found, key=lambda name: (HELP_ORDER.index(name) if name in HELP_ORDER else len(HELP_ORDER), name))


def application(asked: str) -> Callable[..., Any]:
    """Build the application with the command asked for, or with every command where that names none."""
    app = typer.Typer(
        add_completion=True,
        # Rich help costs more start-up time than everything else here together.
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    known = names()
    for name in [asked] if asked in known else known:
        _add(app, name, importlib.import_module(f"{commands.__name__}.{name}"))
    return typer.main.get_command(app)


def report(error: BaseException, *, debug: bool) -> int:
    """Say on stderr what went wrong and return the exit code; a traceback only on demand."""
    if debug:
        traceback.print_exception(error)
    match error:
        case KeyboardInterrupt():
            _say("interrupted; the same command may be run again")
            return INTERRUPTED
        case AtlasError():
            _say(str(error))
            return error.exit_code
        case OSError(filename=None, strerror=str(why)):
            _say(f"stdout cannot be written: {why}")
            _close_quietly()
            return 1
        case _ if _is_of_a_row(error):
            _say(str(error))
            return 3
        case _:
            detail = str(error).partition("\n")[0][:300]
            _say(f"unexpected {type(error).__name__}: {detail}\n--debug after the command's name shows where.")
            return 1


def _is_of_a_row(error: BaseException) -> bool:
    """Whether a family's row is miswritten: its message says which file and key, for whoever writes rows."""
    from atlas.families.whole import Miswritten

    return isinstance(error, Miswritten)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer passes the flag's value
    if wanted:
        typer.echo(f"atlas {__version__}")
        raise typer.Exit


def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Language-model architectures, exact from a config, with evidence.

    Every command also takes --debug (show the traceback of an error), and each that asks the Hub --endpoint URL
    (another than huggingface.co; HF_ENDPOINT).

    Exit codes: 0 ok, 1 unexpected, 2 usage, 3 validation failed, 4 Hub unavailable, 5 another refresh runs, 6 snapshot
    damaged, 7 query refused, 8 not found, 9 does not fit (fit --check), 130 interrupted.
    """


class _Page(typer.core.TyperCommand):
    """A command whose page of help does not say that it has one."""

    def get_help_option(self, ctx: Any) -> typer.core.TyperOption | None:
        """The option as ever, without its line."""
        return _unsaid(super().get_help_option(ctx))


class _Group(typer.core.TyperGroup):
    """The same of commands that have sub-commands."""

    def get_help_option(self, ctx: Any) -> typer.core.TyperOption | None:
        """The option as ever, without its line."""
        return _unsaid(super().get_help_option(ctx))


def _unsaid(option: typer.core.TyperOption | None) -> typer.core.TyperOption | None:
    if option is not None:
        option.hidden = True
    return option


def _add(app: typer.Typer, name: str, module: ModuleType) -> None:
    """Register a module's `run`, or its `actions` as sub-commands."""
    if not hasattr(module, "actions"):
        app.command(name, cls=_Page, short_help=_purpose(module.run))(_guarded(module.run))
        return
    group = typer.Typer(cls=_Group, rich_markup_mode=None, help=module.__doc__)
    for action in module.actions:
        group.command(action.__name__.replace("_", "-"), cls=_Page, short_help=_purpose(action))(_guarded(action))
    app.add_typer(group, name=name, short_help=_purpose(module))


def _purpose(thing: Callable[..., object] | ModuleType) -> str:
    """The first paragraph of a docstring: the help of all commands shows it whole."""
    first = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    return " ".join(first.split())


def _guarded(function: Callable[..., object]) -> Callable[..., None]:
    """Add `--debug` to a command, and turn what it raises into a report and an exit code."""

    @functools.wraps(function)
    def guarded(*, debug: bool, **options: object) -> None:
        try:
            function(**options)
            sys.stdout.flush()
        except BrokenPipeError:
            _close_quietly()
        except (typer.Exit, typer.TyperException):
            raise
        except (KeyboardInterrupt, Exception) as error:
            raise typer.Exit(report(error, debug=debug)) from error

    signature = inspect.signature(function, eval_str=True)
    flag = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug)
    guarded.__signature__ = signature.replace(parameters=[*signature.parameters.values(), flag])  # pyright: ignore[reportAttributeAccessIssue]
    return guarded


_Debug = Annotated[bool, typer.Option("--debug", hidden=True, help="Show the traceback of an error.")]


def _report_usage(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "atlas"
    _say(f"{error.format_message()}\n'{path} --help' shows what it takes.")
    return error.exit_code


def _say(message: str) -> None:
    """Print to stderr; control and direction characters of names that others chose are shown, not obeyed."""
    print("atlas:", "\n".join(text.terminal(line) for line in message.split("\n")), file=sys.stderr)  # noqa: T201 - messages go to stderr


def _allow_any_text() -> None:
    """Let a name with a lone surrogate, or a terminal of another encoding, show an escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _open_standard_files() -> None:
    """A closed standard file would be the next one opened, and data would go where a database is."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open("/dev/full" if number == 1 and os.path.exists("/dev/full") else os.devnull, os.O_RDWR)  # noqa: PTH110
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))


def _close_quietly() -> None:
    """End well when the reader of a pipe has seen enough; Python would complain while flushing at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
