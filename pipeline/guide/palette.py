"""Colours of the guide's charts: series, mixers and origins, each with its counterpart on dark paper."""

from __future__ import annotations

INK, MUTED, GRID, PAPER = "#1f2328", "#59636e", "#d1d9e0", "#ffffff"
DARK = {INK: "#f0f6fc", MUTED: "#9198a1", GRID: "#3d444d", PAPER: "#0d1117"}
# The first six were searched for the largest distance as seen with normal, protanopic and deuteranopic eyes.
SERIES = ("#0b62a4", "#c2410c", "#4a0d3f", "#cc6674", "#4616ca", "#651515", "#57606a", "#2b8a9e")
DARK_SERIES = ("#58a6ff", "#ff9a5c", "#63eee4", "#b12582", "#a219e6", "#c22929", "#8b949e", "#e3d26f")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (4, 2), (12, 4), (10, 3, 2, 3, 2, 3), (3, 1))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
MIXER_COLOURS = {
    "full_attention": SERIES[0],
    "sliding_attention": SERIES[1],
    "chunked_attention": SERIES[5],
    "sparse_attention": SERIES[2],
    "compressed_attention": SERIES[7],
    "cross_attention": SERIES[6],
    "linear_attention": SERIES[3],
    "ssm": SERIES[3],
    "conv": SERIES[4],
    "none": GRID,
}


def theme() -> str:
    """Colours of the dark theme, for readers who use one; they replace the light ones by attribute."""
    pairs = {**DARK, **dict(zip(SERIES, DARK_SERIES, strict=True))}
    rules = "".join(f'[fill="{a}"]{{fill:{b}}}[stroke="{a}"]{{stroke:{b}}}' for a, b in pairs.items())
    return f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"


ORIGINS = {
    "explicit": SERIES[0],
    "alias": SERIES[7],
    "class_default": SERIES[3],
    "family_rule": SERIES[2],
    "derived": SERIES[1],
    "correction": SERIES[5],
    "header": SERIES[4],
    "reported": SERIES[6],
    "constant": SERIES[6],
    "no_effect": GRID,
    "unread": PAPER,
}
"""Colours of where a value comes from; the last two are of keys that nothing reads."""


def origin_marks() -> dict[str, str]:
    """A small square per origin, by file name, to stand before the word."""
    return {
        f"origin-{origin}.svg": (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="12" height="12" viewBox="0 0 12 12">{theme()}'
            f'<rect x="1" y="1" width="10" height="10" rx="2" fill="{colour}"'
            f' stroke="{INK if colour == PAPER else colour}"/></svg>\n'
        )
        for origin, colour in ORIGINS.items()
    }
