"""Ling and Ring before version 3: two classes under one model_type, told apart by the class that the config names."""

from __future__ import annotations

from typing import Any

from atlas.layouts.latent import mlp_types
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.refusal import not_derivable


def bailing(c: Config) -> Kinds:
    """As `mlp_types`; the first class has neither norms of queries and keys nor correction biases, the second says."""
    if c.opt("use_bias"):
        raise not_derivable("with use_bias every projection has a bias, and no published model shows which are stored")
    if "V2" not in _named(c):
        c.derived("qk_norm_switch", value=False, rule="the first class has no norms of queries and keys")
        c.derived("router_correction_bias", value=False, rule="the first class has no correction biases")
    c.need("qk_norm_switch")
    return mlp_types(c)


def _named(c: Config) -> str:
    """The class that the config names; nothing where it names none."""
    named: Any = c.outer.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else ""  # pyright: ignore[reportUnknownArgumentType]


FFN_LAYOUTS = {"bailing": bailing}
