"""A stack as its runs, first to last: `10 × (5 A, B) · 2 A`, each letter a distinct layer."""

from __future__ import annotations

from itertools import pairwise

from atlas.numbers.structure import Layer, Run, runs_of
from pipeline.drawing import colours
from pipeline.drawing.canvas import Canvas, clean, wrapped
from pipeline.drawing.strip import flat

SPACE = "\xa0"


def letters_of(runs: list[Run], before: int = 0) -> dict[Layer, str]:
    """A letter for each distinct layer, the first met first, behind those of the stack `before`; beyond Z two."""
    distinct = enumerate(dict.fromkeys(flat(runs)), before)
    return {x: chr(65 + n) if n < 26 else chr(64 + n // 26) + chr(65 + n % 26) for n, x in distinct}


def places(at: list[int]) -> str:
    """Which layers these are: alone or from-to, and what repeats at one distance by its first two and its last."""
    starts = [n for n in at if n - 1 not in at]
    ends = [n for n in at if n + 1 not in at]
    found, said = list(zip(starts, ends, strict=True)), []
    while found:
        n = _regular(found)
        far = n > 3  # three are shorter in full
        said += [_span(*found[0]), _span(*found[1]), f"… {_span(*found[n - 1])}"] if far else [_span(*found[0])]
        found = found[n if far else 1 :]
    return ", ".join(said).replace(", …", f",{SPACE}…")


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _regular(found: list[tuple[int, int]]) -> int:
    """How many of these from the first on are equally long and equally far apart."""
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(found)]
    return 1 + next((n for n, s in enumerate(steps) if s != steps[0] or s[0] != s[1]), len(steps))


def formula(runs: list[Run], letters: dict[Layer, str]) -> str:
    """The formula in one line, without breaks inside its terms."""
    return " · ".join(_times(r.repeats, _told(tuple(letters[x] for x in r.layers)), len(r.layers)) for r in runs)


def _told(words: tuple[str, ...]) -> str:
    pieces = [(n, words[start : start + unit], unit) for n, start, unit in runs_of(words)]
    return f",{SPACE}".join(_times(n, f",{SPACE}".join(unit), size) for n, unit, size in pieces)


def _times(n: int, text: str, unit: int) -> str:
    if n == 1:
        return text
    return f"{n}{SPACE}{text}" if unit == 1 else f"{n}{SPACE}×{SPACE}({text})"


def write(g: Canvas, runs: list[Run], letters: dict[Layer, str], before: str) -> None:
    """Layers and their formula, its letters in their colours."""
    inks = {letter: colours.of_layer(x) for x, letter in letters.items()}
    total = len(flat(runs))
    said = f"{before}{total} layer{'s' * (total != 1)}"
    lines = wrapped(said + (f" = {formula(runs, letters)}" if len(letters) > 1 else ""), 415)
    for n, line in enumerate(lines[:6]):
        head, tail = (said, line[len(said) :]) if n == 0 and line.startswith(said) else ("", line)
        g.out.append(f'<text x="{14 + 16 * bool(n)}" y="{g.y:g}" class="t">{clean(head)}{_tinted(tail, inks)}</text>')
        g.y += 15


def _tinted(text: str, inks: dict[str, str]) -> str:
    said, word = "", ""
    for ch in text + "\n":
        if ch.isalpha():
            word += ch
            continue
        said += f'<tspan class="b f c-{inks[word]}">{word}</tspan>' if word in inks else clean(word)
        said, word = said + (clean(ch) if ch != "\n" else ""), ""
    return said
