"""Charts: whole SVG files, the same bytes every time, colours that can be told apart, and nothing in them but data."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from pipeline.guide import charts, palette

SVG = "{http://www.w3.org/2000/svg}"
CASES: dict[str, tuple[list[dict[str, Any]], dict[str, str]]] = {
    "share_bars": (
        [{"c": "dense FFN", "s": 0.7}, {"c": "attention", "s": 0.2}, {"c": "norms", "s": 0.00001}],
        {"label": "c", "value": "s"},
    ),
    "layer_strip": (
        [
            {"i": i, "m": "full_attention" if i % 6 == 5 else "sliding_attention", "f": "moe" if i else "dense"}
            for i in range(62)
        ],
        {"index": "i", "mixer": "m", "ffn": "f"},
    ),
    "curves": (
        [
            {"s": s, "t": 2**k, "b": n * 2**k, "bend": k == 10}
            for s, n in (("a", 36864), ("b", 131072))
            for k in range(7, 21)
        ],
        {"x": "t", "y": "b", "series": "s", "bend": "bend", "x_title": "tokens", "y_title": "bytes"},
    ),
    "grid": (
        [{"y": 2023, "g": 1, "n": 5}, {"y": 2024, "g": 8, "n": 1}],
        {"x": "y", "y": "g", "value": "n", "x_title": "year", "y_title": "group"},
    ),
    "years": (
        [{"y": 2023, "k": "dense", "n": 5}, {"y": 2024, "k": "MoE", "n": 1}],
        {"year": "y", "value": "n", "series": "k", "y_title": "designs"},
    ),
    "scatter": (
        [{"p": 1e9, "b": 4096, "k": "MHA", "l": "small"}, {"p": 4e11, "b": 516096, "k": "GQA", "l": None}],
        {"x": "p", "y": "b", "series": "k", "label": "l", "x_title": "weights", "y_title": "bytes"},
    ),
}


def drawn(kind: str, rows: list[Mapping[str, Any]] | None = None, title: str = "A chart") -> str:
    """One chart of each kind."""
    given, roles = CASES[kind]
    return charts.KINDS[kind](rows or given, title=title, **roles)


@pytest.mark.parametrize("kind", CASES)
def test_a_chart_is_a_whole_image_with_a_title_for_screen_readers(kind: str) -> None:
    """It parses as XML, carries its title first, has role img and is as wide as every other chart."""
    root = ET.fromstring(drawn(kind, title="Shares <of> & weights"))
    assert root.tag == f"{SVG}svg"
    assert root[0].text == "Shares <of> & weights"
    assert (root.get("role"), root.get("width")) == ("img", "960")


@pytest.mark.parametrize("kind", CASES)
def test_a_chart_fits_into_its_own_frame(kind: str) -> None:
    """No text is set outside the image: an axis or legend cut off would be unreadable."""
    root = ET.fromstring(drawn(kind))
    height = float(root.get("height", "0"))

    def lowest(node: ET.Element, y: float) -> float:
        shift = node.get("transform", "")
        here = y + (
            float(shift.split(",")[1].split(")")[0]) if shift.startswith("translate(") and "," in shift else 0.0
        )
        mine = here if node.tag == f"{SVG}text" else 0.0
        return max([mine, *(lowest(child, here) for child in node)])

    assert 0 < lowest(root, 0.0) <= height


def test_the_same_rows_give_the_same_bytes_in_another_process() -> None:
    """Nothing of the process, its hash seed among it, gets into any kind of chart."""
    drawing = "json.dump({k: t.drawn(k) for k in t.CASES}, sys.stdout)"
    path = [str(Path(__file__).parent), *sys.path]
    code = f"import json, sys; sys.path[:0] = {path!r}; import test_charts as t; {drawing}"
    again = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONHASHSEED": "7"}
    ).stdout
    assert json.loads(again) == {kind: drawn(kind) for kind in CASES}


@pytest.mark.parametrize("kind", CASES)
def test_the_fonts_of_a_machine_move_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured in a font of other widths, everything stands where it stood."""
    ours = drawn(kind)
    monkeypatch.setattr(charts, "FONT", "DejaVu Serif")
    assert drawn(kind).replace("DejaVu Serif", "Liberation Sans, Arial, Helvetica, sans-serif") == ours


@pytest.mark.parametrize("kind", ["share_bars", "curves", "years", "scatter"])
def test_a_hostile_label_is_text(kind: str) -> None:
    """Markup, script and terminal escapes in a label are shown; they become no element and no control character."""
    given, roles = CASES[kind]
    column = roles.get("series") or roles["label"]
    hostile = drawn(kind, [{**row, column: "</text><script>x\x1b[31m"} for row in given])
    assert "script" not in {node.tag.removeprefix(SVG) for node in ET.fromstring(hostile).iter()}
    assert "\x1b" not in hostile


def _luminance(colour: str) -> float:
    """Relative luminance (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(a: str, b: str) -> float:
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_stand_out_in_both_themes() -> None:
    """Text has the contrast WCAG asks of text (4.5), marks that of graphics (3), on light and on dark paper."""
    light, dark = palette.PAPER, palette.DARK[palette.PAPER]
    assert all(
        _contrast(c, light) >= 4.5 and _contrast(palette.DARK[c], dark) >= 4.5 for c in (palette.INK, palette.MUTED)
    )
    assert all(_contrast(c, light) >= 3 for c in palette.SERIES)
    assert all(_contrast(c, dark) >= 3 for c in palette.DARK_SERIES)


# Machado, Oliveira and Fernandes (2009), severity 1.0.
BLIND = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
}


def _seen(colour: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return tuple(sum(w * c for w, c in zip(row, rgb, strict=True)) for row in matrix)


@pytest.mark.parametrize("blindness", BLIND)
@pytest.mark.parametrize("colours", [palette.SERIES[:6], palette.DARK_SERIES[:6]])
def test_the_first_colours_differ_for_the_colour_blind(blindness: str, colours: tuple[str, ...]) -> None:
    """Any two of the first six colours stay apart by 25 of 255 in some channel; dashes and shapes differ besides."""
    for a, b in combinations(colours, 2):
        apart = [abs(x - y) for x, y in zip(_seen(a, BLIND[blindness]), _seen(b, BLIND[blindness]), strict=True)]
        assert max(apart) >= 25, (a, b, apart)


def test_the_longest_name_of_a_bar_has_room() -> None:
    """Names stand left of the bars, right-aligned: their room is at least their letters, 7.2 pixels each."""
    name = "Llama-4-Maverick-17B-128E-Instruct"
    svg = charts.share_bars([{"c": name, "s": 0.7}], label="c", value="s", title="A chart")
    assert name in svg
    root = next(g for g in ET.fromstring(svg).iter(f"{SVG}g") if g.get("transform", "").startswith("translate("))
    assert float(root.get("transform", "").removeprefix("translate(").partition(",")[0]) >= 7.2 * len(name) + 6
