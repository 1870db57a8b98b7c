"""Norms that follow from other keys: where they stand, of which class, with which bias."""

from __future__ import annotations

from atlas.reading.config import Config
from atlas.reading.derivations.rule import Found, Rule
from schemas.vocabulary import NormClass


def norm_by_type(c: Config) -> Found:
    """Queries and keys normed per head (`qwen3`) or over all heads (Molmo 2)."""
    wide = c.word("qk_norm_type") != "qwen3"
    return "full" if wide else "head", f"qk_norm_type is {'not ' if wide else ''}qwen3"


def norms_after(c: Config) -> Found:
    """Norms on the outputs of sublayers where `norm_after` says so (Molmo 2)."""
    return ("post_sublayer", "norm_after is true") if c.flag("norm_after") else None


def norms_first(c: Config) -> Found:
    """Norms before or after the sum (OPT)."""
    first = c.flag("norm_first")
    return "pre" if first else "post", f"do_layer_norm_before is {str(first).lower()}"


def norms_first_if_switched(c: Config) -> Found:
    """Norms before the sublayers where `pre_norm` says so (X-MOD)."""
    return ("pre", "pre_norm is true") if c.flag("pre_norm") else None


def norms_after_off(c: Config) -> Found:
    """The norms after the sublayers may be off."""
    return None if c.flag("sandwich") else ("pre", "the norms after the sublayers are off")


def last_norm_if_first(c: Config) -> Found:
    """A final norm only where norms stand first and it was not removed (OPT)."""
    last = c.flag("norm_first") and not c.flag("without_final_norm")
    return last, "only where norms stand first and it was not removed"


def norms_without_weights(c: Config) -> Found:
    """Norms may be without weights (OPT)."""
    if c.flag("norm_weights"):
        return None
    return NormClass.NONPARAMETRIC.value, "layer_norm_elementwise_affine is false"


def rmsnorm_if_eps(c: Config) -> Found:
    """RMSNorm where `rms_norm_eps` is stated, LayerNorm without bias where not (Cohere 2 with experts)."""
    cls = NormClass.LAYERNORM if c.opt("rms_norm_eps") is None else NormClass.RMSNORM
    return cls.value, "RMSNorm only where rms_norm_eps is stated"


def norm_before_if_said(c: Config) -> Found:
    """A norm over the embedding where `emb_layer_norm_before` says so (ESM)."""
    on = c.opt("emb_layer_norm_before") is True
    return on, f"emb_layer_norm_before is {'' if on else 'not '}true"


def as_networks(c: Config) -> Found:
    """Norms of the blocks have a bias where the networks have one (xLSTM)."""
    return c.flag("ffn_bias"), "use_bias"


RULES: dict[str, Rule] = {
    f.__name__: f
    for f in (
        norm_by_type, norms_after, norms_first, norms_first_if_switched, norms_after_off, last_norm_if_first,
        norms_without_weights, rmsnorm_if_eps, norm_before_if_said, as_networks,
    )
}  # fmt: skip
