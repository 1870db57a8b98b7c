"""Colours by what a mixer keeps, light and dark, and the rules of style that every drawing carries.

Six colours from a search for the greatest least distance to normal, protan, deutan and tritan eyes, and a grey.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from atlas.numbers.structure import Layer, Mixing, Part
from schemas.vocabulary import Mixer


class Shade(NamedTuple):
    """A colour on light and on dark paper, and what it says."""

    light: str
    dark: str
    keeps: str


SHADES = {
    "full": Shade("#123a86", "#82b4f3", "keeps every token"),
    "sliding": Shade("#cb5e08", "#f4a948", "keeps a window of tokens"),
    "sparse": Shade("#641ad1", "#b439f1", "keeps every token, reads a chosen few"),
    "compressed": Shade("#10a46a", "#0e925d", "keeps one entry for several tokens"),
    "cross": Shade("#583b0b", "#f4db9d", "keeps the tokens of a source"),
    "state": Shade("#e82aae", "#c8359a", "keeps a state of fixed size"),
    "ffn": Shade("#515a61", "#b6bcc2", "keeps nothing"),
}
OF_MIXERS = {
    Mixer.FULL_ATTENTION: "full",
    Mixer.SLIDING_ATTENTION: "sliding",
    Mixer.CHUNKED_ATTENTION: "sliding",
    Mixer.SPARSE_ATTENTION: "sparse",
    Mixer.COMPRESSED_ATTENTION: "compressed",
    Mixer.CROSS_ATTENTION: "cross",
    Mixer.LINEAR_ATTENTION: "state",
    Mixer.SSM: "state",
    Mixer.CONV: "state",
    Mixer.NONE: "ffn",
}
INK, SOFT, PAPER = ("#1f2328", "#e6edf3"), ("#59636e", "#9aa4af"), ("#ffffff", "#0d1117")
ROOT = ".atlas-drawing"
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif"
_RULES = {
    "": f"font:11.5px {FONT}",
    ".b": "font-weight:650",
    ".k": "font-size:12.5px",
    ".s": "font-size:10.5px",
    ".f": "fill:currentColor",
    ".l": "fill:none;stroke:currentColor;stroke-width:1.5",
    ".p": "stroke:currentColor;stroke-width:1.5",
    ".g": "fill:none;stroke:currentColor;stroke-opacity:.35",
    ".o": "fill:currentColor;fill-opacity:.1;stroke:currentColor;stroke-width:1.3",
    ".e": "fill:currentColor;fill-opacity:.34",
    ".n": "fill:currentColor;fill-opacity:.07;stroke:currentColor;stroke-opacity:.45",
    ".d": "stroke-dasharray:3 3;stroke-opacity:.7",
}


def of_part(p: Part) -> str:
    """The class of a part's colour."""
    return OF_MIXERS[p.info.mixer] if isinstance(p.info, Mixing) else "ffn"


def of_layer(each: Layer) -> str:
    """The class of a layer's colour: that of its first mixer."""
    return next((of_part(p) for p in each.parts if isinstance(p.info, Mixing)), "ffn")


@cache
def style() -> str:
    """The rules of a drawing, none of which reaches beyond it; dark paper is one media query."""
    plain = "".join(f"{_selector(name)}{{{rule}}}" for name, rule in _RULES.items())
    return f"<style>{plain}{_themed(0)}@media(prefers-color-scheme:dark){{{_themed(1)}}}</style>"


def _selector(name: str) -> str:
    return f"{ROOT} {name}" if name else ROOT


def _themed(n: int) -> str:
    inks = {"": f"color:{INK[n]}", ".t": f"fill:{INK[n]}", ".m": f"fill:{SOFT[n]}"}
    inks |= {".p": f"fill:{PAPER[n]}", ".w": f"fill:{PAPER[n]}"}
    inks |= {f".c-{name}": f"color:{shade[n]}" for name, shade in SHADES.items()}
    return "".join(f"{_selector(name)}{{{rule}}}" for name, rule in inks.items())
