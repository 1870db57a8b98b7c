"""Charts as SVG files: one visual language, deterministic, legible in light and dark and at 400 pixels.

Widths, margins and fonts are fixed, so that nothing depends on the fonts of the machine that draws. Series that could
be mistaken have a second mark (a dash, a shape or a label). A style sheet in the file follows the reader's theme.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from pipeline.guide.labels import BESIDE, FAR, HEIGHTS, LETTER, Plot, labelled
from pipeline.guide.palette import DASHES, GRID, INK, MIXER_COLOURS, MUTED, PAPER, SERIES, SHAPES, theme
from pipeline.guide.prose import word
from pipeline.text import shorten, terminal

if TYPE_CHECKING:
    import altair as alt

Rows = Sequence[Mapping[str, Any]]

WIDTH, SCALE = 640, 1.5
"""Pixels a chart is drawn in, and how many times larger it stands on a page: as wide as a page's column."""
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
LABEL = 13
VERSION = "6.4"

# Vega frames groups by the measured width of their text, in no colour: it is all that a machine's fonts decide.
_UNSEEN = re.compile(r'<path class="background" aria-hidden="true" d="[^"]*"[^>]*/>')


_SIZE = re.compile(r'\b(width|height)="([\d.]+)"')


def _larger(size: re.Match[str]) -> str:
    return f'{size[1]}="{float(size[2]) * SCALE:g}"'


@cache
def _altair() -> Any:
    """Altair, imported when the first chart is drawn, without its schema checks: they take longer than the drawing."""
    import altair as alt
    from altair.utils import schemapi

    schemapi.DEBUG_MODE = False
    return alt


def svg(chart: alt.TopLevelMixin, title: str) -> str:
    """Draw a chart; `title` is what a screen reader says. The same chart gives the same bytes."""
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(chart.to_dict(validate=False), vl_version=VERSION)
    head, _, body = _UNSEEN.sub("", drawn).partition(">")
    head = _SIZE.sub(_larger, head, count=2)
    return f'{head} role="img"><title>{escape(terminal(title))}</title>{theme()}{body}\n'


def _finished(
    chart: Any,
    height: int,
    left: int,
    *,
    bottom: int = 48,
    top: int = 16,
    right: int = 20,
    legend: int = 0,
    row: int = 19,
) -> Any:
    """Sizes and styles all charts share. `height` is the plot's own; `legend` is how many entries stand below it."""
    # In one call: each copies the whole chart.
    return chart.properties(
        width=WIDTH - left - right,
        height=height,
        padding={"left": left, "right": right, "top": top, "bottom": bottom + row * legend + (8 if legend else 0)},
        autosize={"type": "none"},
        background=PAPER,
        config={
            "axis": {
                "labelFont": FONT, "titleFont": FONT, "labelFontSize": LABEL, "titleFontSize": LABEL,
                "labelColor": INK, "titleColor": MUTED, "titleFontWeight": "normal", "gridColor": GRID,
                "domainColor": GRID, "tickColor": GRID, "labelLimit": left,
            },
            "axisLeft": {"minExtent": left - 28, "maxExtent": left - 28},
            "view": {"stroke": None},
            "text": {"font": FONT, "fontSize": LABEL, "color": INK},
            "legend": {
                "orient": "none", "legendX": 0, "legendY": height + bottom + 4, "direction": "vertical",
                "labelFont": FONT, "labelFontSize": LABEL, "labelColor": INK, "titleFont": FONT, "symbolSize": 90,
                "labelLimit": WIDTH, "title": None, "rowPadding": 4,
            },
        },
    )  # fmt: skip


def _named(rows: Rows, column: str) -> list[str]:
    """Labels in the order they come, harmless and not too long for a chart."""
    return list(dict.fromkeys(_label(r[column]) for r in rows))


def _label(value: object) -> str:
    return shorten(terminal(str(value)), 34)


def _scale(domain: Sequence[str], values: Sequence[Any]) -> Any:
    return _altair().Scale(domain=list(domain), range=[values[i % len(values)] for i in range(len(domain))])


def _plain_axis(**more: Any) -> Any:
    """An axis of names: no ticks, no line, labels upright."""
    return _altair().Axis(labelAngle=0, ticks=False, domain=False, **more)


def _binary(channel: Any, rows: Rows, column: str, title: str, room: int = 0, unit: str = "B") -> Any:
    """A logarithmic axis with labels in powers of 1,024 of a unit (none: tokens), `room` pixels free at both ends."""
    alt = _altair()
    axis = alt.Axis(labelExpr=_binary_label(unit), values=_powers(rows, column))
    scale = alt.Scale(type="log", base=2, nice=False, padding=room)
    return channel(f"{column}:Q", scale=scale, title=title, axis=axis)


def _coloured(series: str, names: Sequence[str], **legend: Any) -> Any:
    """One colour per series, with a legend."""
    alt = _altair()
    return alt.Color(f"{series}:N", scale=_scale(names, SERIES), legend=alt.Legend(**legend))


def _data(rows: Rows, *texts: str) -> Any:
    """Rows as inline values, labels made harmless."""
    labelled = [{**r, **{t: _label(r[t]) for t in texts}} for r in rows]
    return _inline(labelled)


def _inline(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a chart's own; Altair copies lists, all they hold with them, whenever a chart is made from another."""
    return _altair().Data(values=tuple(rows))


def share_bars(rows: Rows, *, label: str, value: str, title: str) -> str:
    """A bar per component, longest possible bar the whole; the percentage stands at its end."""
    alt = _altair()
    names = _named(rows, label)
    y = alt.Y(f"{label}:N", sort=names, title=None, axis=_plain_axis(labelPadding=6))
    base = alt.Chart(_data(rows, label)).encode(y=y)
    longest = max(r[value] for r in rows)
    x = alt.X(f"{value}:Q", axis=None, scale=alt.Scale(domain=[0, longest * 1.2]))
    bars = base.mark_bar(color=SERIES[0], height=18).encode(x=x)
    texts = (
        base.mark_text(align="left", dx=6)
        .encode(x=x, text=alt.Text("shown:N"))
        .transform_calculate(
            shown=f"datum['{value}'] < 0.0005 ? '<0.1 %' : format(datum['{value}'] * 100, '.1f') + ' %'"
        )
    )
    room = max(170, round(LETTER * max(map(len, names))) + 16)
    return svg(_finished(bars + texts, 28 * len(names), room, bottom=8, top=8), title)


def layer_strip(rows: Rows, *, index: str, mixer: str, ffn: str, title: str) -> str:
    """A cell per layer: the upper row is how it mixes tokens, the lower its feed-forward network."""
    alt = _altair()
    cells = [
        {"index": r[index], "row": "mixer", "kind": "no mixer" if r[mixer] == "none" else word(r[mixer])} for r in rows
    ]
    cells += [
        {"index": r[index], "row": "FFN", "kind": "no FFN" if r[ffn] == "none" else f"{_FFN[r[ffn]]} FFN"} for r in rows
    ]
    kinds = list(dict.fromkeys(c["kind"] for c in cells))
    colours = [_strip_colour(k) for k in kinds]
    chart = alt.Chart(_inline(cells)).mark_rect(stroke=PAPER, strokeWidth=1).encode(
        x=alt.X("index:O", title="layer", axis=_plain_axis(values=_ticks(len(rows)))),
        y=alt.Y("row:N", sort=["mixer", "FFN"], title=None, axis=_plain_axis(labelPadding=6)),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=colours), legend=alt.Legend()),
    )  # fmt: skip
    return svg(_finished(chart, 64, 52, legend=len(kinds)), title)


_FFN = {"dense": "dense", "moe": "MoE"}


def _strip_colour(kind: str) -> str:
    ffn = {"no mixer": GRID, "dense FFN": SERIES[6], "MoE FFN": SERIES[2], "no FFN": GRID}
    return ffn.get(kind) or MIXER_COLOURS[kind.lower().replace(" ", "_")]


def _ticks(n: int) -> list[int]:
    step = max(1, 10 * round(n / 60)) if n > 24 else 4
    return list(range(0, n, step))


def curves(  # noqa: PLR0913 - the roles of a chart
    rows: Rows, *, x: str, y: str, series: str, bend: str, title: str, x_title: str, y_title: str, unit: str = "B"
) -> str:
    """Lines over two logarithmic axes; a point marks where a line bends (rows whose `bend` is true)."""
    alt = _altair()
    names = _named(rows, series)
    base = alt.Chart(_data(rows, series)).encode(
        x=_binary(alt.X, rows, x, x_title, unit=""),
        y=_binary(alt.Y, rows, y, y_title, unit=unit),
        color=_coloured(series, names, symbolType="stroke", symbolStrokeWidth=3, symbolSize=1200, columns=2),
    )  # fmt: skip
    lines = base.mark_line(strokeWidth=2.5).encode(
        strokeDash=alt.StrokeDash(f"{series}:N", scale=_scale(names, [list(d) for d in DASHES]))
    )
    bends = base.mark_point(filled=True, size=70, opacity=1).transform_filter(f"datum['{bend}']")
    return svg(_finished(lines + bends, 260, 76, legend=(len(names) + 1) // 2, row=40), title)


def _binary_label(unit: str) -> str:
    """A label in plain sizes: 4 GiB where the unit is B, 128K where there is none."""
    steps = [(2**40, "T"), (2**30, "G"), (2**20, "M"), (2**10, "K")]
    sizes = [f"datum.value >= {n} ? datum.value / {n} + '{f' {s}i{unit}' if unit else s}'" for n, s in steps]
    return " : ".join([*sizes, f"datum.value + '{f' {unit}' if unit else unit}'"])


def _powers(rows: Rows, column: str, factor: int = 4) -> list[int]:
    """Powers of `factor` over the range of a column."""
    low, high = min(r[column] for r in rows), max(r[column] for r in rows)
    found = [factor**k for k in range(26) if low <= factor**k <= high]
    if len(found) < 3 and factor > 2:
        return _powers(rows, column, 2)
    return found if len(found) <= 7 else found[:: -(-len(found) // 7)]


def grid(rows: Rows, *, x: str, y: str, value: str, title: str, x_title: str, y_title: str) -> str:
    """A count in each cell of a grid, larger counts darker; the count is written in it."""
    alt = _altair()
    across, down = sorted({r[x] for r in rows}), sorted({r[y] for r in rows})
    most = max(r[value] for r in rows)
    base = alt.Chart(_inline([dict(r) for r in rows])).encode(
        x=alt.X(f"{x}:O", title=x_title, sort=across, axis=_plain_axis()),
        y=alt.Y(f"{y}:O", title=y_title, sort=down, axis=_plain_axis()),
    )
    cells = base.mark_rect(color=SERIES[0], cornerRadius=2, stroke=PAPER, strokeWidth=2).encode(
        opacity=alt.Opacity(f"{value}:Q", scale=alt.Scale(domain=[0, most], range=[0.08, 0.6]), legend=None)
    )
    return svg(_finished(cells + base.mark_text().encode(text=f"{value}:Q"), 30 * len(down), 64, bottom=52), title)


def years(rows: Rows, *, year: str, value: str, series: str, title: str, y_title: str) -> str:
    """Stacked bars by year."""
    alt = _altair()
    names = _named(rows, series)
    ordered = [{**r, "order": names.index(_label(r[series]))} for r in rows]
    chart = (
        alt.Chart(_data(ordered, series))
        .mark_bar(stroke=PAPER, strokeWidth=1)
        .encode(
            x=alt.X(f"{year}:O", title=None, axis=alt.Axis(labelAngle=0, ticks=False)),
            y=alt.Y(f"{value}:Q", title=y_title, axis=alt.Axis(tickMinStep=1, tickCount=5)),
            color=_coloured(series, names),
            order=alt.Order("order:Q"),
        )
    )
    return svg(_finished(chart, 200, 56, bottom=28, legend=len(names)), title)


def scatter(  # noqa: PLR0913 - the roles of a chart
    rows: Rows, *, x: str, y: str, series: str, label: str, title: str, x_title: str, y_title: str, unit: str = "B"
) -> str:
    """Points over two logarithmic axes, told apart by colour and shape; rows with a `label` are named."""
    alt = _altair()
    names = _named(rows, series)
    plot = Plot(WIDTH - 76 - 20, 280)
    data = labelled(rows, (x, y), label, plot)
    decimal = alt.Axis(format="~s", labelExpr=_GIGA, tickCount=5)
    base = alt.Chart(_data(data, series)).encode(
        x=alt.X(f"{x}:Q", scale=alt.Scale(type="log", nice=True), title=x_title, axis=decimal),
        y=_binary(alt.Y, rows, y, y_title, room=10, unit=unit),
    )  # fmt: skip
    points = base.mark_point(filled=True, size=48, opacity=0.9).encode(
        color=_coloured(series, names),
        shape=alt.Shape(f"{series}:N", scale=_scale(names, SHAPES)),
    )
    rings = base.mark_point(size=120, color=INK, strokeWidth=1.5, opacity=1).transform_filter("datum.place != ''")
    texts = [
        base.mark_text(align=align, dx=dx, dy=dy, **halo)
        .encode(text=f"{label}:N")
        .transform_filter(f"datum.place == '{align}{dy}'")
        for halo in ({"stroke": PAPER, "strokeWidth": 4}, {})
        for align, dx in (("left", BESIDE), ("right", -BESIDE))
        for dy in HEIGHTS
        if any(d["place"] == f"{align}{dy}" for d in data)
    ]
    leaders = [
        base.mark_rule(color=MUTED, x2Offset=dx, y2Offset=dy)
        .encode(x2=f"{x}:Q", y2=f"{y}:Q")
        .transform_filter(f"datum.place == '{align}{dy}'")
        for align, dx in (("left", BESIDE), ("right", -BESIDE))
        for dy in HEIGHTS
        if abs(dy) > FAR and any(d["place"] == f"{align}{dy}" for d in data)
    ]
    return svg(_finished(alt.layer(*leaders, points, rings, *texts), plot.height, 76, legend=len(names)), title)


_GIGA = "replace(replace(datum.label, 'G', 'B'), 'k', 'K')"

KINDS: dict[str, Callable[..., str]] = {f.__name__: f for f in (share_bars, layer_strip, curves, grid, years, scatter)}
"""The kinds of chart by name, as a template asks for them."""
