"""One-key mutants of published configs, with the library's answers, held against what the atlas makes of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from places import FIXTURES

from atlas.derived import Derived
from atlas.interpret import derive
from atlas.numbers.structure import Tensor
from schemas.vocabulary import Component

ANSWERS = FIXTURES / "mutants.jsonl"
"""Made by tests/tables/library_mutants.py with transformers 5.24 and torch 2.13."""
ABSENT = "ABSENT"

EXPLAINED: dict[tuple[str, str], str] = {
    ("gemma3", "text_config.hidden_size"): "the projector's width follows it, and projectors stand apart",
    ("gemma4", "text_config.hidden_size"): "the same",
    ("mllama", "text_config.hidden_size"): "the same",
    ("falcon", "num_hidden_layers"): "absent, n_layer says it, as in files of RefinedWeb's class; the library takes 32",
    ("idefics3", "tie_word_embeddings"): "two readings: the language model says true, the wrapper's class takes false",
}
"""Differences of known configs, by family and key: (model_type, path)."""

APART = ("talker_config.",)
"""Objects of a wrapper that build something beside the language model."""
FILES = {
    "zai-org--GLM-4.1V-9B-Thinking": "the shape is stated flat, and the library takes its class's defaults then",
    "facebook--opt-1.3b@first-upload": "its width is spelled d_model, which the library's class no longer reads",
}
"""Published files that the library builds in another shape than the checkpoint has."""

BEYOND: dict[str, str] = {
    "head_dim": "the library refuses odd widths, which its rotary tables cannot split",
    "qk_rope_head_dim": "the library fails in forward tables made for the width it was built with",
    "vocab_size": "the library refuses a vocabulary that does not hold the padding token",
    "hidden_size": "the library refuses a width that is no multiple of the heads, although it uses no quotient",
    "num_attention_heads": "the same",
}
"""Keys whose odd values the library refuses for reasons that are none of the shape."""


class Mutant(NamedTuple):
    """A config with one key changed, and the change of the library's total, or "error"."""

    name: str
    path: tuple[str, ...]
    value: Any
    answer: int | str


def mutants() -> list[Mutant]:
    """Those kept as data: a line per file, with the path of a key (slashes lead inwards), its value, the answer."""
    files = (json.loads(line) for line in ANSWERS.read_text("utf-8").splitlines())
    return [Mutant(name, tuple(path.split("/")), value, a) for name, *found in files for path, value, a in found]


def changed(data: dict[str, Any], m: Mutant) -> dict[str, Any]:
    """The mutant's config."""
    made = copy.deepcopy(data)
    inner = made
    for step in m.path[:-1]:
        inner = inner[step]
    if m.value == ABSENT:
        inner.pop(m.path[-1], None)
    else:
        inner[m.path[-1]] = m.value
    return made


def weights(d: Derived) -> int | None:
    """The total as the library counts it: without correction biases, which are buffers there."""
    if d.model is None or d.fingerprint.params_total is None:
        return None
    counts = d.model.counted().items()
    buffers = [n * t.elements * t.stored for each, n in counts for p in each.parts for t in p.tensors if _held(t)]
    return d.fingerprint.params_total - sum(buffers)


def _held(t: Tensor) -> bool:
    return t.component is Component.ROUTER and t.name.endswith("e_score_correction_bias")


def differences(folder: Path, found: list[Mutant]) -> Iterator[str]:
    """What is known and differs from the library's answer, and is not explained by name."""
    bases: dict[str, tuple[dict[str, Any], Derived]] = {}
    for m in found:
        if m.name not in bases:
            data = json.loads((folder / f"{m.name}.json").read_text("utf-8"))
            bases[m.name] = data, derive(data)
        data, base = bases[m.name]
        made = derive(changed(data, m))
        if made.fingerprint.verdict == "known" and not _agrees(base, made, m):
            yield f"{m.name}: {'.'.join(m.path)} = {str(m.value)[:40]}: library {m.answer}, ours {weights(made)}"


def _agrees(base: Derived, made: Derived, m: Mutant) -> bool:
    """The same change; where the library refuses, no number but the base's, or an odd value of a key named above."""
    before, after, path = weights(base), weights(made), ".".join(m.path)
    if before is None or after is None or m.name in FILES or path.startswith(APART):
        return True
    if m.answer == "error":
        return after == before or m.path[-1] in BEYOND
    return after - before == m.answer or (str(base.fingerprint.model_type), path) in EXPLAINED
