"""DeBERTa's attention and tables as a config states them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atlas.numbers.structure import Part, Tensor
from atlas.parts import disentangled as parts
from atlas.parts.disentangled import Disentangled
from atlas.readers.attention import read_gqa
from atlas.readers.view import View
from atlas.reading.config import Config
from atlas.reading.values import entries
from atlas.refusal import bad_value

WAYS = ("c2p", "p2c", "p2p")


def _ways(c: Config) -> frozenset[str]:
    """Which of content and position are compared; a text with bars between the words in older files."""
    stated: Any = c.opt("pos_att_type")
    words = stated.lower().split("|") if isinstance(stated, str) else entries("pos_att_type", stated or [])
    found = frozenset(w.strip() for w in words if isinstance(w, str))
    if len(found) != len(words) or not found <= frozenset(WAYS):
        raise bad_value("pos_att_type", stated, "c2p, p2c, or both")
    return found if c.flag("relative_attention") else frozenset()


def _rows(c: Config) -> int:
    """Rows of the table of relative positions: two per bucket, else two per position."""
    buckets = c.opt("position_buckets")
    if isinstance(buckets, int) and buckets > 0:
        return 2 * c.count("position_buckets")
    stated = c.opt("max_relative_positions")
    positive = isinstance(stated, int) and stated > 0
    return 2 * c.count("max_relative_positions" if positive else "max_position_embeddings")


def _scalars(v: View, own: bool) -> Disentangled:
    ways = _ways(v)
    return Disentangled(v.count("hidden_size"), _rows(v) if ways else 0, "c2p" in ways, "p2c" in ways, own)


def read_disentangled(v: View) -> Part:
    """The second and third version's."""
    return parts.disentangled(_scalars(v, own=not v.opt("share_att_key")), read_gqa(v))


def read_fused(v: View) -> Part:
    """The first version's."""
    return parts.fused(_scalars(v, own=True), read_gqa(v), v.count("num_attention_heads") * bool(v.opt("talking_head")))


def tables(c: Config, _: int) -> list[Tensor]:
    """The table of relative positions, its norm, and the convolution beside the first layer."""
    d, found = c.count("hidden_size"), list[Tensor]()
    normed = "layer_norm" in str(c.opt("norm_rel_ebd")).lower().split("|")
    if c.flag("relative_attention"):
        found += parts.table(_rows(c), d, normed)
    kernel = c.size("conv_kernel_size") if c.opt("conv_kernel_size") is not None else 0
    return found + (parts.convolution(d, kernel, c.opt_count("conv_groups") or 1) if kernel else [])


MIXERS: dict[str, Callable[[View], Part]] = {"disentangled": read_disentangled, "disentangled_fused": read_fused}
