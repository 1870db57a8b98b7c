"""Why a card of the field's gallery states another cache than ours: suppositions, each computed and held against it.

A supposition explains a difference only where it gives the card's figure as the card rounds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from atlas.derived import Derived
from atlas.numbers.fingerprint import LayerRow
from atlas.numbers.tabulate import layers_expanded

KIB = 1024


def rows(d: Derived) -> list[LayerRow]:
    """One row per mixer."""
    assert d.model is not None
    return layers_expanded(d.model)


def held(row: LayerRow) -> float:
    """What one held token occupies in a layer."""
    return row.kv_bytes_per_held_token or 0


def values_from_keys(d: Derived) -> float:
    """Keys of full layers counted for their values too, once (Gemma 4)."""
    return sum(held(r) / (1 if r.window else 2) for r in rows(d))


def without_sharing(d: Derived) -> float:
    """Layers that read another layer's cache counted as if they kept one, and keys of full layers once."""
    found, total = rows(d), 0.0
    for r in found:
        own = held(r) or held(found[r.kv_shared_from]) if r.kv_shared_from is not None else held(r)
        total += own if r.window else own / 2
    return total


def twice(d: Derived) -> float:
    """Twice the layers: a file that counts pairs, each pair counted twice (LongCat-Flash-Lite)."""
    return 2 * sum(held(r) for r in rows(d))


def expanded(d: Derived) -> float:
    """Keys and values of every key head in place of the latent they are made of (Motif 3)."""
    stated: dict[str, Any] = {e.field: e.value for e in d.evidence}
    heads, width, values = stated["num_key_value_heads"], stated["head_dim"], stated["v_head_dim"]
    return len(rows(d)) * 2 * heads * (width + values)


SUPPOSITIONS: Mapping[str, Callable[[Derived], float]] = {
    "keys of full layers, which are their values too, counted once": values_from_keys,
    "layers that read another's cache counted as if they kept their own": without_sharing,
    "each of the file's layers, which are pairs already, counted twice": twice,
    "keys and values of every key head in place of the latent they are made of": expanded,
}
SAID = {
    "Xiaomi MiMo-V2-Flash (309B)": "the card's own error: it has 40 windowed and 8 full layers, the file 39 and 9",
    "Gemma 4 (26B-A4B)": "the file at hand lacks num_global_key_value_heads, which its repository states",
    "Gemma 4 (31B)": "the file at hand lacks num_global_key_value_heads, which its repository states",
}
"""What no formula over the config gives."""


def shown(bytes_: float, like: str) -> str:
    """Bytes as a card writes them: in KiB, with as many decimals."""
    number = like.split(maxsplit=1)[0]
    decimals = len(number.partition(".")[2])
    return f"{bytes_ / KIB:.{decimals}f}"


def same(bytes_: float, stated: str) -> bool:
    """Whether a figure is the card's, rounded as the card rounds; a card may also cut (11.25 as 11.2)."""
    number = float(stated.split(maxsplit=1)[0]) * (KIB if "KiB" in stated else 1)
    step = KIB * 10.0 ** -len(stated.split(maxsplit=1)[0].partition(".")[2]) if "KiB" in stated else 1
    return abs(bytes_ - number) < step * 0.51


def reason(title: str, d: Derived, stated: str) -> str | None:
    """The reason for a difference, computed or said; None where there is none."""
    for why, count in SUPPOSITIONS.items():
        try:
            found: Any = count(d)
        except (KeyError, IndexError, TypeError):
            continue
        if same(found, stated):
            return why
    return SAID.get(title)
