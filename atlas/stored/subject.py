"""The model whose files are in question, and what its config says beside the structure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from atlas.families.rules import Family
from atlas.numbers.shape import shape_of
from atlas.numbers.structure import Model
from atlas.numbers.towers import Tower
from atlas.stored.form import DTYPES, Unsaid
from atlas.stored.held import plain_tied
from atlas.stored.scheme import Context
from atlas.stored.settings import INNER
from schemas.vocabulary import AttentionKind

_BY_FORMAT = ("fp8", "mxfp4")
"""Methods of publishers' own files, which keep in bfloat16 what they do not quantize, also where no dtype is stated."""


class Subject(NamedTuple):
    """A derived model: its structure, its family, its config; `towers` and `drafts` are None where not known."""

    model: Model
    family: Family
    config: Mapping[str, Any]
    towers: tuple[Tower, ...] | None = ()
    drafts: int | None = 0


def context(of: Subject, method: str | None = None) -> Context:
    """What the readers of settings need to know. Raises `Unsaid` where no type is stated."""
    return _of_design(of.model)._replace(
        model_type=of.family.model_type,
        dtype=_dtype(of.config, method),
        version=_version(of.config.get("transformers_version")),
        has_towers=of.towers != (),
        architecture=_architecture(of.config),
        expert_dtype=_text(of.config, "expert_dtype"),
    )


@lru_cache(maxsize=16384)
def _of_design(model: Model) -> Context:
    """What the structure alone says of it."""
    mixers = [(m, n) for m, n in shape_of(model).mixers if m.attention_kind is not None]
    latent = next((m for m, _ in mixers if m.attention_kind is AttentionKind.MLA), None)
    return Context(
        model_type="",
        dtype="",
        version=None,
        attention_layers=sum(n for _, n in mixers),
        has_experts=any(t.stored > 1 for each in model.counted() for p in each.parts for t in p.tensors),
        has_towers=False,
        is_tied=bool(plain_tied(model, "BF16")),
        heads=latent and latent.n_q_heads,
        value_dim=latent and latent.v_head_dim,
    )


def _dtype(config: Mapping[str, Any], method: str | None) -> str:
    """The type of what is not quantized, as the config states it."""
    stated = stated_dtype(config)
    if stated is None and method not in _BY_FORMAT:
        raise Unsaid("no dtype is stated for what is not quantized")
    return stated or "BF16"


def stated_dtype(config: Mapping[str, Any]) -> str | None:
    """The file's word for the type that a config states, its own or its language model's."""
    for raw in (config, *(config.get(k) for k in INNER)):
        for key in ("dtype", "torch_dtype"):
            stated = raw.get(key) if isinstance(raw, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            if isinstance(stated, str) and stated.removeprefix("torch.") in DTYPES:
                return DTYPES[stated.removeprefix("torch.")]
    return None


def _architecture(config: Mapping[str, Any]) -> str | None:
    """The first class that a config names."""
    stated = config.get("architectures")
    first = stated[0] if isinstance(stated, list) and stated else stated  # pyright: ignore[reportUnknownVariableType]
    return first if isinstance(first, str) else None


def _text(config: Mapping[str, Any], key: str) -> str | None:
    """A word of a config, its own or its language model's."""
    for raw in (config, *(config.get(k) for k in INNER)):
        stated = raw.get(key) if isinstance(raw, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(stated, str):
            return stated
    return None


def _version(stated: object) -> tuple[int, int] | None:
    """Major and minor of the transformers that wrote the config."""
    major, _, rest = str(stated).partition(".")
    minor = rest.partition(".")[0]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None
