"""A stack as its runs, first to last: `10 × (5 A, B) · 2 A`, each letter a distinct layer."""

from __future__ import annotations

from atlas.numbers.structure import Layer, Run, runs_of
from pipeline.drawing import colours
from pipeline.drawing.canvas import Canvas, clean, wrapped
from pipeline.drawing.strip import flat

SPACE = "\xa0"


def letters_of(runs: list[Run]) -> dict[Layer, str]:
    """A letter for each distinct layer, the first met first; beyond Z two letters."""
    distinct = dict.fromkeys(flat(runs))
    return {x: chr(65 + n) if n < 26 else chr(64 + n // 26) + chr(65 + n % 26) for n, x in enumerate(distinct)}


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


def write(g: Canvas, runs: list[Run], before: str) -> None:
    """Layers and their formula, its letters in their colours."""
    letters = letters_of(runs)
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
