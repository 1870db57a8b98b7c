"""`atlas family`: a merged family row, each line with the file that said it; or a row proposed for a new config."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._options import Json


def run(
    name: Annotated[str, typer.Argument(help="A model_type, such as llama; or draft.")],
    config: Annotated[Path | None, typer.Argument(help="With draft: a config.json, or the folder of it.")] = None,
    *,
    header: Annotated[Path | None, typer.Option("--header", help="The checkpoint's weights, or their index.")] = None,
    json: Json = False,
) -> None:
    """Print a family's row, each line with the file that said it.

    With --json one object per line: table, key, value, file. `atlas family draft CONFIG` proposes a row for a config
    whose family has none: near rows, keys that none of them reads, what to look up.
    """
    from pipeline.errors import Usage

    if name == "draft":
        if config is None:
            raise Usage("say 'atlas family draft CONFIG', with a config.json or the folder that holds it")
        from pipeline.ask import drafts

        drafts.show(config, header, as_json=json)
        return
    if config is not None or header is not None:
        raise Usage("a second argument and --header belong to 'atlas family draft CONFIG'")
    _print(name, as_json=json)


def _print(name: str, *, as_json: bool) -> None:
    import msgspec

    from atlas.families import known
    from atlas.families.told import as_toml, told

    if not known(name):
        raise _unknown(name)
    lines = told(name)
    if as_json:
        sys.stdout.writelines(msgspec.json.encode(line._asdict()).decode() + "\n" for line in lines)
    else:
        sys.stdout.write(as_toml(lines))


def _unknown(name: str) -> Exception:
    from difflib import get_close_matches

    from atlas.families import available, known
    from pipeline.errors import NotFound

    near = get_close_matches(name, sorted(t for t in available() if known(t)), n=3)
    hint = f"; near it: {', '.join(near)}" if near else ""
    return NotFound(f"no family is called {name!r}{hint}")
