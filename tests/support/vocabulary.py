"""Rewrites `_vocabulary.toml` after a part, layout, end or field is new: from the code, and the fields that rows use.

What a row misspells lands in the list of fields, where the tests find that nothing asks for it: review the difference.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from atlas import families
from atlas.families.loader import available, row
from atlas.families.whole import OF_SPEC, REPLACED
from atlas.layouts import FFN_LAYOUTS, FOLLOWING, MIXER_LAYOUTS
from atlas.layouts.stacks import STACKS
from atlas.readers import ENDS, FFNS, MIXERS
from atlas.readers.norms import NORMS
from atlas.reading.derivations import DERIVATIONS

CODE: dict[str, Mapping[str, Any]] = {
    "mixers": MIXERS,
    "ffns": FFNS,
    "layouts": MIXER_LAYOUTS,
    "ffn_layouts": FFN_LAYOUTS | FOLLOWING,
    "ends": ENDS,
    "norm_readers": NORMS,
    "stacks": STACKS,
    "derivations": DERIVATIONS,
}
"""What the code has, by the name of its list."""

HEAD = """\
# Every word that a row may use, by what it names. A row with another word is refused when it is loaded; tests hold
# these lists against the code, so a new part, layout or field is named here too (`make vocabulary` does it).
"""
FIELDS = "# What parts, layouts and ends ask for: columns of a config under our names, and facts that no config states."


def fields() -> set[str]:
    """Every field that some row speaks of."""
    names = [t for t in available() if t not in ("_irrelevant", "_names", "_overlays", "_vocabulary")]
    written = [part for t in names for own in [row(t)] for part in (own, own.get("encoder", {}))]
    return {field for own in written for field in _fields(own)}


def _fields(own: Mapping[str, Any]) -> Iterator[str]:
    for table in ("keys", "defaults", "facts", "derive", "outer"):
        yield from own.get(table, {})
    for table in REPLACED:
        for meant in own.get(table, {}).values():
            for spec in meant if isinstance(meant, list) else [meant]:
                said = {} if isinstance(spec, str) else spec
                renamed = said.get("fields", {})
                yield from (*renamed, *renamed.values(), *(k for k in said if k not in OF_SPEC))


def _list(name: str, words: Iterator[str] | set[str] | Mapping[str, Any]) -> str:
    text = ", ".join(f'"{w}"' for w in sorted(words))
    lines = textwrap.fill(text, 118, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
    return f"{name} = [\n{lines},\n]\n"


def write() -> None:
    """Write the lists."""
    lists = "".join(_list(name, words) for name, words in CODE.items())
    path = Path(families.__file__).with_name("_vocabulary.toml")
    path.write_text(f"{HEAD}{lists}\n{FIELDS}\n{_list('fields', fields())}", "utf-8")


if __name__ == "__main__":
    write()
