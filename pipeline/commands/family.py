"""`atlas family`: a merged family row, each line with the file that said it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pipeline.options import Json


def run(
    name: Annotated[str, typer.Argument(help="A model_type, such as llama.")],
    json: Json = False,
) -> None:
    """Print a family's row with all that it extends, each line with the file that said it.

    With --json one object per line: table, key, value, file.
    """
    import msgspec

    from atlas.families import known
    from atlas.families.told import as_toml, told

    if not known(name):
        raise _unknown(name)
    lines = told(name)
    if json:
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
