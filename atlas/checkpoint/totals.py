"""Totals that others state, held against ours: the Hub's count of a checkpoint's elements, a model's name, a card.

A difference is explained only by arithmetic: a total that some of the usual extras (drafting layers, a tied head
stored again, scales, buffers) make equal to the last weight. What has no arithmetic (towers of unknown size, packed
integers) is left unchecked, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from math import prod
from typing import NamedTuple

from atlas.checkpoint.idle import idle_elements
from atlas.derived import Derived
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.shape import shape_of
from atlas.numbers.structure import Model, Tensor
from atlas.numbers.towers import Tower
from schemas.vocabulary import AttentionKind, Check, Component, Role

PACKED = frozenset(("I32", "U32", "U8", "I8", "F4"))
"""Types whose elements may hold several weights each."""
MXFP4_BLOCK = 32
FP8_BLOCK = 128


class TotalCheck(NamedTuple):
    """One total held against ours.

    `result` is exact, explained, off or unchecked, `note` says what explains a difference.
    """

    result: str
    expected: int
    derived: int
    note: str | None = None

    @property
    def check(self) -> Check:
        """As the table keeps it: an explained total agrees to the last weight."""
        return Check.EXACT if self.result == "explained" else Check(self.result)


class Extra(NamedTuple):
    """Elements that a total may count beside params_total (or leave out, if negative), in words."""

    words: str
    elements: int


def check_total(derived: Derived, total: Mapping[str, int] | int) -> TotalCheck:
    """Hold the Hub's total (by dtype, or as one number) against the derived one.

    A refused config raises `ValueError`.
    """
    model, ours = derived.model, derived.fingerprint.params_total
    if model is None or ours is None:
        raise ValueError("a refused config has no total to hold anything against")
    by_dtype = {"": total} if isinstance(total, int) else total
    theirs = sum(by_dtype.values())
    if theirs == ours:
        return TotalCheck("exact", theirs, ours)
    found = _explained(theirs - ours, list(extras(model, derived.fingerprint, derived.towers)))
    if found is not None:
        return TotalCheck("explained", theirs, ours, found)
    return _unexplained(derived.fingerprint, by_dtype, theirs, ours)


def _explained(difference: int, possible: list[Extra]) -> str | None:
    """The fewest extras that make up the difference exactly."""
    for n in range(1, len(possible) + 1):
        for chosen in combinations(possible, n):
            if sum(e.elements for e in chosen) == difference:
                return "; ".join(f"{e.words}: {e.elements:+,}" for e in chosen)
    return None


def _unexplained(f: Fingerprint, by_dtype: Mapping[str, int], theirs: int, ours: int) -> TotalCheck:
    packed = sorted(PACKED & by_dtype.keys())
    if packed:
        words = ", ".join(f"{by_dtype[d]:,} elements of {d}" for d in packed)
        return TotalCheck("unchecked", theirs, ours, f"packed quantization: {words} are no count of weights")
    if f.quant_method is not None:
        return TotalCheck(
            "unchecked", theirs, ours, f"quantized ({f.quant_method}): {theirs - ours:+,} elements, packed or scales"
        )
    if f.has_towers and f.params_towers is None and theirs > ours:
        return TotalCheck(
            "unchecked", theirs, ours, f"towers included: {theirs - ours:,} elements beside the language model"
        )
    if f.n_mtp_layers and f.params_mtp is None and theirs > ours:
        return TotalCheck(
            "unchecked", theirs, ours, f"drafting layers of unknown content included: {theirs - ours:,} elements more"
        )
    return TotalCheck("off", theirs, ours, f"{theirs - ours:+,} elements against the derived weights")


def extras(model: Model, f: Fingerprint, towers: Iterable[Tower] = ()) -> Iterator[Extra]:
    """What a total may count otherwise, in elements; only what is not zero. The Hub counts no scalar."""
    counts = {
        "MTP layers included": _of(model, lambda t: t.component is Component.MTP and not _is_table(t)),
        "the MTP layers' own copies of embedding and head included": _of(
            model, lambda t: t.component is Component.MTP and _is_table(t)
        ),
        "towers included": 0 if f.params_towers is None else f.params_towers,
        "tied head stored twice": _of(model, lambda t: t.component is Component.UNEMBEDDING and not t.stored, copies=1),
        "output head left out": -_of(model, lambda t: t.component is Component.UNEMBEDDING),
        "position ids included": sum(
            t.shape[0] for p in model.ends.parts for t in p.tensors if _POSITIONS.search(t.name)
        ),
        "keys and values of layers that share a cache included": idle_elements(model),
        "persistent buffers included": _of(model, lambda t: t.component is Component.BUFFERS),
        "persistent buffers of towers included": sum(
            n * t.stored * t.elements
            for tower in towers
            for n, t in tower.tensors()
            if t.component is Component.BUFFERS and t.shape
        ),
        "router correction biases left out": -_of(
            model, lambda t: t.name.endswith("correction_bias") and t.component is not Component.MTP
        ),
        "the MTP layers' router correction biases left out": -_of(
            model, lambda t: t.name.endswith("correction_bias") and t.component is Component.MTP
        ),
        "rotary frequencies of every layer included": sum(
            n * m.rotary_dim // 2 for m, n in shape_of(model).mixers if m.rotary_dim is not None
        ),
        "rotary frequencies as of heads of hidden_size / num_attention_heads included": _of_equal_heads(model, f),
        "causal masks of every layer included": model.n_layers * f.max_context**2
        if f.position == "learned" and f.max_context is not None
        else 0,
        **_scales(model, f),
    }
    yield from (Extra(words, n) for words, n in counts.items() if n)


def _of_equal_heads(model: Model, f: Fingerprint) -> int:
    """Frequencies that a conversion wrote for latent attention as for plain heads; the class reads them nowhere.

    The files of moonshotai/Kimi-K2-Instruct hold `rotary_emb.inv_freq` of 56 in each layer: 7,168 / 64 / 2.
    """
    if f.attention_kind != AttentionKind.MLA.value or not f.d_model or not f.n_q_heads:
        return 0
    return model.n_layers * (f.d_model // f.n_q_heads // 2)


def _scales(model: Model, f: Fingerprint) -> dict[str, int]:
    """Quantization scales, for the methods whose rule is fixed."""
    if f.quant_method == "mxfp4":
        experts = _of(model, lambda t: t.component is Component.EXPERTS_ROUTED and t.role is Role.MATMUL)
        return {"MXFP4 scales included, one per 32 weights": experts // MXFP4_BLOCK}
    if f.quant_method not in ("fp8", None):
        return {}
    own, drafting = (
        sum(n * _blocks(t) for n, t in _tensors(model) if (t.component is Component.MTP) is mtp)
        for mtp in (False, True)
    )
    return {
        "FP8 scales included, one per block of 128 x 128": own,
        "the MTP layers' FP8 scales included": drafting,
    }


_POSITIONS = re.compile(r"position_embeddings\.weight$|embed_positions\.weight$")
_UNSCALED = (
    "embed_tokens",
    "lm_head",
    "shared_head",
    "eh_proj",
    "mlp.gate.",
    "weights_proj",
    "conv1d",
    "shared_expert_gate",
)


def _blocks(t: Tensor) -> int:
    """Scales of one weight in 128 x 128 blocks; embeddings, heads, routers and vectors are not quantized."""
    if t.role is not Role.MATMUL or len(t.shape) != 2 or any(x in t.name for x in _UNSCALED):
        return 0
    return t.stored * prod(-(-n // FP8_BLOCK) for n in t.shape)


def _is_table(t: Tensor) -> bool:
    return t.name.endswith(("embed_tokens.weight", "shared_head.head.weight"))


def _tensors(model: Model) -> Iterator[tuple[int, Tensor]]:
    for each, n in model.counted().items():
        yield from ((n, t) for p in each.parts for t in p.tensors)


def _of(model: Model, wanted: Callable[[Tensor], bool], copies: int | None = None) -> int:
    """Elements of the tensors that a rule takes, as often as they are stored."""
    return sum(n * (t.stored if copies is None else copies) * t.elements for n, t in _tensors(model) if wanted(t))


class Stated(NamedTuple):
    """A rounded number as its source states it; `unit` is the worth of its last digit."""

    field: str  # params_total or params_active
    text: str
    value: float
    unit: float

    def agrees(self, ours: float) -> bool:
        """Whether ours is within one unit of the last digit: names round up, down, or to the next size."""
        return abs(ours - self.value) < self.unit


_SIZES = {"M": 1e6, "B": 1e9, "T": 1e12}
_IN_NAME = re.compile(
    r"(?<![A-Za-z0-9.])(?P<active>[aA])?(?P<times>\d+x)?(?P<n>\d+(?:[._]\d+)?)(?P<size>[MBTmbt])(?P<experts>-\d+E)?(?![A-Za-z0-9])"
)


def in_name(repo_id: str) -> list[Stated]:
    """The totals that a name states: `235B-A22B` is 235B, 22B of them active; `17B-16E` is 17B active.

    A product (8x7B) states neither, nor does 1M, which is a context as often as a total.
    """
    found: dict[str, Stated] = {}
    for m in _IN_NAME.finditer(repo_id.rpartition("/")[2]):
        if m["times"] is None and m[0].upper() != "1M":
            field = "params_active" if m["active"] or m["experts"] else "params_total"
            found.setdefault(field, _stated(field, m[0], m["n"].replace("_", "."), _SIZES[m["size"].upper()]))
    return list(found.values())


def _stated(field: str, text: str, digits: str, worth: float) -> Stated:
    whole, _, part = digits.partition(".")
    zeros = 0 if part else len(whole) - len(whole.rstrip("0"))
    return Stated(field, text, float(digits) * worth, worth * 10 ** (zeros - len(part)))


def as_stated(field: str, value: int) -> Stated:
    """A whole number from a card or paper; its trailing zeros are taken for rounding."""
    digits = str(value).rstrip("0")
    return Stated(field, f"{value:,}", float(value), float(10 ** (len(str(value)) - len(digits))))


def disagreement(repo_id: str, f: Fingerprint, stated: Stated, tool: str) -> dict[str, str | None] | None:
    """A row of the table `disagreements`, or None where the statement agrees with ours or there is nothing of ours."""
    ours = getattr(f, stated.field)
    if ours is None or stated.agrees(ours):
        return None
    words = [w for w, n in _readings(f, stated) if stated.agrees(n)]
    return {
        "repo_id": repo_id, "field": stated.field, "tool": tool, "theirs": stated.text, "ours": str(ours),
        "explanation": words[0] if words else None,
    }  # fmt: skip


def _readings(f: Fingerprint, stated: Stated) -> Iterator[tuple[str, int]]:
    """Other ways to count the same, with what they give."""
    total, compute, active = f.params_total, f.params_active_compute, f.params_active
    if stated.field == "params_total":
        if total is not None:
            yield from _wider(f, total)
            yield from _without_tables(f, total)
        if f.has_towers and total is not None:
            yield "larger than the language model: may count the towers too", max(total, int(stated.value))
        return
    if compute is not None:
        yield f"counts matmul weights only (params_active_compute): {compute:,}", compute
    if active is not None:
        yield from _without_tables(f, active)


def _without_tables(f: Fingerprint, count: int) -> Iterator[tuple[str, int]]:
    """A count without embedding and output head, where both are known."""
    if f.params_embedding is not None and f.params_unembedding is not None:
        left = count - f.params_embedding - f.params_unembedding
        yield f"counts no embedding and no output head: {left:,}", left


def _wider(f: Fingerprint, total: int) -> Iterator[tuple[str, int]]:
    if f.params_mtp:
        yield f"counts the MTP layers: {total + f.params_mtp:,}", total + f.params_mtp
    if f.tie_word_embeddings and f.params_embedding:
        yield f"counts the tied head twice: {total + f.params_embedding:,}", total + f.params_embedding
