"""How the parts of a layer hang on the residual stream: branches in order, and where their norms stand.

A layer is a half that mixes tokens and a half that does not, each a list of parts with the norms in front. A row says
how a part joins those before it in its half: `next` (a branch of its own), `beside` (in the same branch), `between`
(after the first branch of the other half), `across` (leaves with the first branch of its half, joins behind the last),
`over` (leaves below the first branch of the layer, joins behind the last), `added` (to what the next branch reads).
What cannot be told is left loose, never placed by a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from atlas.numbers.structure import Branch, Mixing, Part
from schemas.vocabulary import Mixer

PLACES = frozenset({"pre", "post", "sandwich", "post_sublayer", "parallel", "ahead", "inputs"})
"""Words for the places of norms that say it all; any other leaves the norms loose."""


class Half(NamedTuple):
    """Parts in order, how each joins (norms join nothing), and the word for where the norms stand."""

    parts: tuple[Part, ...] = ()
    joins: tuple[str, ...] = ()
    place: str = "pre"


class _Group(NamedTuple):
    parts: tuple[int, ...]
    joins: str
    added: tuple[int, ...] = ()


def flow(mixing: Half, feeding: Half) -> tuple[Branch, ...]:
    """The branches of a layer, the first first."""
    first, second = _groups(mixing, 0), _groups(feeding, len(mixing.parts))
    if "parallel" in (mixing.place, feeding.place) and first and second:
        return (_side_by_side(mixing, feeding, first + second),)
    mixed, fed = _branches(mixing, first, 0), _branches(feeding, second, len(mixing.parts))
    return _ordered(mixed, [g.joins for g in first], fed, [g.joins for g in second])


def _groups(half: Half, start: int) -> list[_Group]:
    """Parts that stand side by side, as indices into the layer; cross-attention is always a branch of its own."""
    found: list[_Group] = []
    works = [n for n, p in enumerate(half.parts) if p.info is not None]
    works = works or [n for n, p in enumerate(half.parts) if p.kind != "norm"]
    added = tuple(start + n for n in works if half.joins[n] == "added")
    for n in works:
        if half.joins[n] == "added":
            continue
        if found and half.joins[n] == "beside" and not _is_cross(half.parts[n]):
            found[-1] = found[-1]._replace(parts=(*found[-1].parts, start + n))
        else:
            found.append(_Group((start + n,), half.joins[n], () if found else added))
    return found


def _is_cross(p: Part) -> bool:
    return isinstance(p.info, Mixing) and p.info.mixer is Mixer.CROSS_ATTENTION


def _norms(half: Half, start: int) -> list[int]:
    return [start + n for n, p in enumerate(half.parts) if p.kind == "norm"]


def _side_by_side(mixing: Half, feeding: Half, groups: list[_Group]) -> Branch:
    norms = _norms(mixing, 0) + _norms(feeding, len(mixing.parts))
    parts = tuple(n for g in groups for n in g.parts)
    return Branch(parts, before=tuple(norms), own=len(norms) == len(parts) > 1)


def _branches(half: Half, groups: list[_Group], start: int) -> list[Branch]:
    norms = _norms(half, start)
    leading = [g for g in groups if g.joins != "across"]
    each, rest = divmod(len(norms), len(leading)) if leading else (0, len(norms))
    if rest or (norms and half.place not in PLACES):
        return [Branch(g.parts, loose=tuple(norms) if g is groups[0] else (), added=g.added) for g in groups]
    ordered = sorted(leading, key=lambda g: g.joins == "over")
    owns = {g: norms[n * each : (n + 1) * each] for n, g in enumerate(ordered)}
    return [_placed(g.parts, owns.get(g, norms[:each]), half.place)._replace(added=g.added) for g in groups]


def _placed(parts: tuple[int, ...], norms: Sequence[int], place: str) -> Branch:
    half = len(norms) - len(norms) // 2
    where = {
        "post": Branch(parts, behind=tuple(norms)),
        "ahead": Branch(parts, ahead=tuple(norms)),
        "inputs": Branch(parts, before=tuple(norms), own=True),
        "post_sublayer": Branch(parts, after=tuple(norms)),
        "sandwich": Branch(parts, before=tuple(norms[:half]), after=tuple(norms[half:])),
    }
    return where.get(place) or Branch(parts, before=tuple(norms))


def _ordered(mixed: list[Branch], joins: list[str], fed: list[Branch], fed_joins: list[str]) -> tuple[Branch, ...]:
    """Branches of both halves in order; what goes across leaves before the network it leaves with."""
    across, over = ([b for b, j in zip(fed, fed_joins, strict=True) if j == word] for word in ("across", "over"))
    networks = [b for b, j in zip(fed, fed_joins, strict=True) if j not in ("across", "over")]
    between = [b for b, j in zip(mixed, joins, strict=True) if j == "between"]
    before = [b for b, j in zip(mixed, joins, strict=True) if j != "between"]
    rest = [*networks[:1], *between, *networks[1:]] if between else networks
    ordered = (*before, *(b._replace(spans=len(rest)) for b in across), *rest)
    return (*(b._replace(spans=len(ordered)) for b in over), *ordered)
