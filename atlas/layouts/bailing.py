"""Ling and Ring before version 3: two classes under one model_type, told apart by the class that the config names."""

from __future__ import annotations

from atlas.layouts.latent import mlp_types
from atlas.layouts.words import Kinds
from atlas.reading.config import Config
from atlas.refusal import not_derivable


def bailing(c: Config) -> Kinds:
    """As `mlp_types`, where no projection has a bias and the class says whether queries and keys have norms."""
    if c.opt("use_bias"):
        raise not_derivable("with use_bias every projection has a bias, and no published model shows which are stored")
    c.need("qk_norm_switch")
    return mlp_types(c)


FFN_LAYOUTS = {"bailing": bailing}
