"""What a model would weigh if its files were stored otherwise: by the same rules, named as hypothetical.

The language model and its drafting layers are quantized as the tools do by default: no head, router or norm (MLX and
GGUF take the tables too); towers stay in bfloat16. The mixes of llama.cpp are described for attention with keys and
values, dense or with experts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from atlas.numbers.shape import shape_of
from atlas.numbers.storage import Storage, StoredRow
from atlas.stored import gguf
from atlas.stored.alike import Mentions, kinds
from atlas.stored.form import Form, Unsaid
from atlas.stored.held import Held, rows, total_bytes
from atlas.stored.rule import METHODS, stored_as
from atlas.stored.settings import Settings
from atlas.stored.subject import Subject, context
from atlas.stored.units import EXPERT, GATE, HEAD, REST, ROUTER, TABLE, Unit, units
from schemas.vocabulary import AttentionKind

EVIDENCE = "hypothetical"
_INT4 = {"type": "int", "num_bits": 4, "symmetric": True, "strategy": "group", "group_size": 128}
_NVFP4 = {"type": "float", "num_bits": 4, "strategy": "tensor_group"}
_MXFP4 = {"type": "float", "num_bits": 4, "strategy": "group", "group_size": 32}


def _compressed(form: str, weights: Mapping[str, Any], inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
    group = {"targets": ["Linear"], "format": form, "weights": weights, "input_activations": inputs}
    return {"ignore": ["lm_head"], "format": form, "version": "", "config_groups": {"group_0": group}}


SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "fp8": ("fp8", {"weight_block_size": [128, 128]}),
    "w4a16-g128": ("compressed-tensors", _compressed("pack-quantized", _INT4)),
    "nvfp4": ("compressed-tensors", _compressed("nvfp4-pack-quantized", _NVFP4, {"num_bits": 4})),
    "mxfp4": ("compressed-tensors", _compressed("mxfp4-pack-quantized", _MXFP4)),
    "mlx4": ("mlx", {"bits": 4, "group_size": 64}),
    "nf4": ("bitsandbytes", {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}),
}
MIXES = ("q8_0", "q4_k_m")
WORDS = ("bf16", *SETTINGS, *MIXES)
"""What `--weights` takes."""


def hypothetical(of: Subject, word: str) -> Storage:
    """Bytes and rows in this form; no number, with the reason, where the model has parts it is not described for."""
    try:
        found = rows(_held(of._replace(config={"dtype": "bfloat16"}), word), EVIDENCE)
    except Unsaid as said:
        return Storage(reason=str(said))
    found = tuple(r if r.bytes is not None else _of_type(r) for r in found)
    return Storage(found, total_bytes(found), EVIDENCE)


def _of_type(row: StoredRow) -> StoredRow:
    """A row of a GGUF type, whose bytes come in blocks."""
    kind = gguf.BY_NAME.get(row.dtype)
    if kind is None or row.elements is None:
        return row
    return msgspec.structs.replace(row, bytes=row.elements // kind.block * kind.bytes)


def _held(of: Subject, word: str) -> Iterator[Held]:
    if of.towers is None or of.drafts is None:
        raise Unsaid("its towers or drafting layers are not described, and they would be in the files")
    found = units(of.model, of.family, of.towers, drafts=bool(of.drafts))
    if word in MIXES:
        _described(of, word)
        yield from (_in_mix(of, u, word) for each in found for u in _by_layer(each) if u.where != "drafts")
    elif word == "bf16":
        yield from (
            Held(u.where, "unquantized", "BF16", u.copies, u.copies * _elements(u)).times(max(1, len(u.layers)))
            for u in found
        )
    else:
        yield from _quantized(of, found, word)


def _quantized(of: Subject, found: tuple[Unit, ...], word: str) -> Iterator[Held]:
    method, raw = SETTINGS[word]
    made = METHODS[method](Settings(method, raw, EVIDENCE), context(of))

    def form(u: Unit) -> Form | None:
        stays = u.where == "towers" or (method != "mlx" and u.kind in (ROUTER, GATE, HEAD, TABLE))
        return None if stays else made.form(u)

    yield from stored_as(made._replace(form=form), (k for u in found for k in kinds(u, Mentions({}))))


def _by_layer(u: Unit) -> Iterator[Unit]:
    """A unit for every layer that has it: a mix treats layers by their number."""
    if not u.layers:
        yield u
    for layer in u.layers:
        yield u._replace(name=u.name.replace("{i}", str(layer)), layers=())


def _elements(u: Unit) -> int:
    n = 1
    for x in u.shape:
        n *= x
    return n


def _described(of: Subject, word: str) -> None:
    """Raises `Unsaid` where a mix of medium size goes by parts that are not described.

    Experts are mixed as dense networks are (their down projections by the layer's number), but of eight experts
    llama.cpp gives keys, values and outputs other types, and not the same in all its versions.
    """
    if word != "q4_k_m":
        return
    mixers = [m for m, _ in shape_of(of.model).mixers]
    if any(m.attention_kind in (None, AttentionKind.MLA) for m in mixers):
        raise Unsaid("the mix q4_k_m is described for attention with keys and values alone")
    experts = {t.stored for each in of.model.counted() for p in each.parts for t in p.tensors if t.stored > 1}
    if _EIGHT in experts:
        raise Unsaid("the mix q4_k_m of eight experts differs by llama.cpp's version")


_EIGHT = 8
_LAYER = re.compile(r"\.(\d+)\.")
_FEWER = {"Q4_K": "Q5_0", "Q6_K": "Q8_0", "Q8_0": "F16", "Q5_0": "F16"}
"""What a row takes whose width is no multiple of the block (llama.cpp's fallbacks)."""
_LARGE = 80


def _in_mix(of: Subject, u: Unit, word: str) -> Held:
    """A tensor by llama.cpp's rules: vectors, convolutions and routers in F32, matrices by what they are."""
    if u.where == "towers":
        return Held(u.where, "unquantized", "F16", u.copies, u.copies * _elements(u))
    if u.kind in (REST, ROUTER, GATE):
        return Held(u.where, "unquantized", "F32", u.copies, u.copies * _elements(u))
    kind = "Q8_0" if word == "q8_0" else _of_medium(of, u)
    while u.into % gguf.BY_NAME[kind].block:
        kind = _FEWER[kind]
    return Held(u.where, word, kind, 1 if u.kind == EXPERT else u.copies, u.copies * _elements(u))


def _of_medium(of: Subject, u: Unit) -> str:
    """Q4_K_M: Q6_K for the output, a tied table, and values and down projections of half the layers; Q4_K else."""
    if u.kind == HEAD or (u.kind == TABLE and _is_tied(of)):
        return "Q6_K"
    match, layers = _LAYER.search(u.name), of.model.n_layers
    more = match is not None and gguf.more_bits(int(match[1]), layers)
    if u.module.endswith(("v_proj", "down_proj")):
        return "Q6_K" if more else "Q5_K" if layers == _LARGE and u.module.endswith("v_proj") else "Q4_K"
    return "Q4_K"


def _is_tied(of: Subject) -> bool:
    return not any(t.stored for p in of.model.ends.parts for t in p.tensors if t.name == "lm_head.weight")
