"""What the language model in a file is: a causal model, an encoder, a draft, a reward model, an adapter, ..."""

from __future__ import annotations

from typing import Any

from atlas.numbers.structure import Model
from atlas.parse import Raw
from atlas.reading import classes
from atlas.reading.config import Config
from schemas.vocabulary import ModelKind

REWARDS = frozenset(("value", "value_bias", "process_reward", "outcome_reward"))
"""Heads with an output that says how good a text is."""
CLASSIFIERS = frozenset(("score", "deep_score", "token_score", "qa", "sequence", "token", "discriminator"))
"""Heads with an output per label, of a text, of a token, or of the ends of a span."""

BY_WORD = {
    ModelKind.DRAFT: ("eagle", "medusa", "dflash", "dspark", "domino", "draft", "speculator", "mtp", "nextn", "hydra"),
    ModelKind.REWARD: ("reward", "valuehead", "prm"),
}
"""Words in a class name or model_type that say what a refused file is."""


OF_DRAFTS = ("medusa_", "hydra_", "eagle_", "dflash_", "dspark_", "speculators_")
"""Beginnings of keys that only drafts have."""


def kind_of(c: Config, model: Model, *, has_cache: bool) -> ModelKind:
    """The kind, by what the rules say of the class, then its head, its stacks and its mask."""
    stated = c.rules.facts.get("kind")
    if stated is not None:
        return ModelKind(stated)
    head = c.values.get("head")
    if head in REWARDS:
        return ModelKind.REWARD
    if head in CLASSIFIERS:
        return ModelKind.CLASSIFIER
    stacks = {run.stack for run in model.runs}
    if {"decoder", "encoder"} <= stacks:
        return ModelKind.ENCODER_DECODER
    if not has_cache:
        return ModelKind.ENCODER
    return ModelKind.HEADLESS if head == "none" else ModelKind.CAUSAL_LM


def named_kind(data: Raw | None) -> ModelKind | None:
    """What a refused file is, where its names say so."""
    if data is None:
        return None
    if classes.adapter_of(data) is not None:
        return ModelKind.ADAPTER
    text = "".join(n.lower() for n in _names(data)).replace("_", "").replace("-", "")
    return next((kind for kind, words in BY_WORD.items() if any(w in text for w in words)), None)


def _names(data: Raw) -> list[str]:
    stated: Any = data.get("architectures")
    named: list[Any] = stated[:1] if type(stated) is list else []  # pyright: ignore[reportUnknownVariableType]
    said = (data.get("model_type"), *named, *classes.remote(data).values())
    return [*(n for n in said if isinstance(n, str)), *(key for key in data if key.startswith(OF_DRAFTS))]
