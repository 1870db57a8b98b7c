"""The command line itself: discovery of commands, exit codes, messages and start-up cost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated

import pytest
import typer
from places import ROOT

from pipeline import cli, errors

HEAVY = ("altair", "duckdb", "huggingface_hub", "msgspec", "orjson", "pandera", "polars", "prefect", "pydantic", "rich")
EXIT_CODES = [
    (errors.Usage, 2),
    (errors.Invalid, 3),
    (errors.Upstream, 4),
    (errors.Busy, 5),
    (errors.Corrupt, 6),
    (errors.QueryRefused, 7),
    (errors.NotFound, 8),
]

PRINTING = """
import sys, types
from pipeline import cli

def run():
    print("a row")

module = types.ModuleType("pipeline.commands.probe")
module.run = run
sys.modules[module.__name__] = module
cli.names = lambda: ["probe"]
raise SystemExit(cli.main(["probe"]))
"""


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give a function that makes `atlas probe` out of a function, or of several as sub-commands."""

    def install(*functions: Callable[..., None]) -> None:
        module = ModuleType("pipeline.commands.probe", "Try things.")
        if len(functions) == 1:
            module.__dict__["run"] = functions[0]
        else:
            module.__dict__["actions"] = functions
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(cli, "names", lambda: ["probe"])

    return install


def raising(error: BaseException) -> Callable[[], None]:
    """Give a command that raises."""

    def run() -> None:
        """Raise."""
        raise error

    return run


@pytest.mark.parametrize(("kind", "code"), EXIT_CODES)
def test_an_error_is_a_sentence_and_its_exit_code(
    kind: type[errors.AtlasError], code: int, command: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of the atlas's own ends the command with its message on stderr and with its code."""
    command(raising(kind("no snapshot here; run `atlas refresh`")))
    assert cli.main(["probe"]) == code
    out, err = capsys.readouterr()
    assert (out, err) == ("", "atlas: no snapshot here; run `atlas refresh`\n")


def test_a_traceback_is_shown_only_on_demand(command: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """An unexpected exception exits 1 with two lines; `--debug` after the command's name adds the traceback."""
    command(raising(KeyError("d_model")))
    assert cli.main(["probe"]) == 1
    quiet = capsys.readouterr().err
    assert quiet.count("\n") == 2
    assert "KeyError: 'd_model'" in quiet
    assert cli.main(["probe", "--debug"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_ctrl_c_exits_130(command: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """An interrupted command exits 130 with one line."""
    command(raising(KeyboardInterrupt()))
    assert cli.main(["probe"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["probe", "--nonsense"], ["probe", "extra"]])
def test_a_usage_error_exits_2(
    arguments: list[str], command: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong word or option exits 2 with what is wrong and where to read on, in two lines."""
    command(raising(AssertionError()))
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 2
    assert "--help' shows what it takes." in err


def test_hostile_names_in_an_error_are_shown_not_obeyed(
    command: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal escape or a direction override in a message arrives as visible text."""
    command(raising(errors.NotFound("no model \x1b[2J\u202egpj.exe")))
    assert cli.main(["probe"]) == 8
    assert capsys.readouterr().err == "atlas: no model \\x1b[2J\\u202egpj.exe\n"


def test_options_and_arguments_reach_the_command(command: Callable[..., None]) -> None:
    """A command gets its own options, and never sees the `--debug` that every command has."""
    seen: list[tuple[str, bool]] = []

    def run(model: str, *, json: Annotated[bool, typer.Option("--json")] = False) -> None:
        """Note what came."""
        seen.append((model, json))

    command(run)
    assert cli.main(["probe", "llama", "--json", "--debug"]) == 0
    assert seen == [("llama", True)]


def test_actions_are_sub_commands(command: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """A module with `actions` becomes a command with sub-commands, described by the module's docstring."""
    seen: list[str] = []

    def ls() -> None:
        """List."""
        seen.append("ls")

    def verify() -> None:
        """Verify."""
        seen.append("verify")

    command(ls, verify)
    assert cli.main(["probe", "verify"]) == 0
    assert seen == ["verify"]
    assert cli.main(["probe", "--help"]) == 0
    assert "Try things." in capsys.readouterr().out


def test_no_command_asked_for_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`atlas` alone is `atlas --help`, and names every command there is."""
    assert cli.main([]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Usage: atlas")
    assert all(f"  {name}" in out for name in cli.names())


def test_every_command_has_a_place_in_the_help() -> None:
    """A new command must be given its place in the order of the help."""
    assert set(cli.names()) <= set(cli.HELP_ORDER)


def test_a_closed_pipe_is_no_error() -> None:
    """A reader that stops early (`atlas ... | head -1`) leaves no message and no failure behind."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", PRINTING], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_help_imports_nothing_heavy() -> None:
    """`atlas --help` imports every command, and none of the libraries that take long to import."""
    code = "import sys; from pipeline.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stderr.split()) & set(HEAVY) == set()


LIGHT = {"filelock", "msgspec", "orjson", "stamina", "typer"}
"""What docs/operating.md says is enough for who only asks."""


@pytest.mark.parametrize(
    "command", ["show Qwen/Qwen3-8B", "inspect Qwen/Qwen3-8B --offline", "compare Qwen/Qwen3-8B Qwen/Qwen3-0.6B"]
)
def test_who_only_asks_needs_few_libraries(command: str, tmp_path: Path) -> None:
    """Of the libraries that the project names, these commands import five."""
    code = f"import sys; from pipeline.cli import main; main({command.split()!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = [re.split(r"[\[>]", line)[0].replace("-", "_") for line in named]
    modules = {name.removesuffix("_python").removesuffix("_py") for name in names}
    assert {"altair", "prefect", "polars", "vl_convert", "huggingface_hub"} <= modules
    assert modules & set(done.stderr.split()) <= LIGHT


@pytest.mark.parametrize(("library", "rooms"), [
    ("altair", {"pipeline/guide/charts.py"}), ("vl_convert", {"pipeline/guide/charts.py"}),
    ("prefect", {"pipeline/scheduled"}), ("prefect_dask", {"pipeline/scheduled"}),
])  # fmt: skip
def test_charts_and_the_scheduler_are_imported_by_their_own_rooms_alone(library: str, rooms: set[str]) -> None:
    """Whoever installs without them loses charts and `atlas schedule`, nothing else."""
    importing = re.compile(rf"^\s*(?:import|from) {library}\b", re.MULTILINE)
    files = [f for room in ("atlas", "schemas", "pipeline") for f in (ROOT / room).rglob("*.py")]
    found = {f.relative_to(ROOT).as_posix() for f in files if importing.search(f.read_text(encoding="utf-8"))}
    assert {f for f in found if not any(f == room or f.startswith(f"{room}/") for room in rooms)} == set()
