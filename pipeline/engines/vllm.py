"""vLLM: blocks, the tokens it prints and the concurrency, from the memory that profiling left (`vllm_rules`)."""

from __future__ import annotations

from collections import Counter
from math import lcm
from typing import Any

from pipeline.engines.record import (
    GIB,
    Engine,
    Geometry,
    Inputs,
    Prediction,
    Step,
    Unknown,
    number,
    version_of,
    whole,
)
from pipeline.engines.types import DTYPE_BYTES, kept_in
from pipeline.engines.vllm_layers import Kind, Serving, kinds
from pipeline.engines.vllm_pool import Pool, Said, request_blocks
from pipeline.engines.vllm_rules import INPUTS, RULES
from pipeline.errors import Usage

NEWEST = "0.33.0"
PLAIN, LATENT = 16, 64


def predict(g: Geometry, version: str, inputs: Inputs) -> Prediction:
    """What vLLM of this version prints at start-up for this model.

    Raises `Unknown` where the rules do not cover the model.
    """
    v, said = version_of(version), Said()
    if v > version_of(NEWEST):
        said.assumed.append(f"version {version}: rules read up to {NEWEST}")
    serving = _serving(g, v, inputs, said)
    found = _kinds(g, v, serving, inputs, said)
    pool = _pool(found, g, v, inputs, said)
    predicted: dict[str, int | float] = {}
    if any(k.name == "recurrent" for k in found) and len(found) > 1:
        predicted["block"] = pool.block
    _sizes(pool, v, inputs, predicted, said)
    return Prediction(
        predicted=predicted, assumed=tuple(said.assumed), missing=tuple(dict.fromkeys(said.missing)),
        steps=tuple(said.steps),
    )  # fmt: skip


def _serving(g: Geometry, v: tuple[int, ...], inputs: Inputs, said: Said) -> Serving:
    kv, ssm = str(inputs.get("kv", "auto")), inputs.get("ssm")
    wide = DTYPE_BYTES.get(g.dtype or "bfloat16", 2)
    if wide != 2 or g.dtype is None:
        said.assumed.append(f"the model runs at 2 bytes (its config states {g.dtype or 'no type'})")
    ds_mla = kv in ("auto", "fp8") and v >= (0, 11) and _is_sparse(g)
    if ds_mla:
        said.assumed.append("fp8_ds_mla, 656 bytes a token and layer: unproven by logs")
    if kv == "auto" and g.quant_method in ("modelopt", "compressed-tensors", "quark"):
        said.assumed.append(
            f"kv is the model's type, unless the {g.quant_method} checkpoint states another for its cache"
        )
    try:
        kept = kept_in("bf16" if kv == "auto" else kv, "kv")
    except Usage as wrong:
        raise Unknown(str(wrong)) from wrong
    if kept.per_head or kept.name == "nvfp4":
        said.assumed.append(f"a cache at {kept.name}: unproven by logs")
    if any(c.kind == "index" for c in g.own()):
        said.assumed.append("an indexer's own layer of 132 bytes a token: unproven by logs")
    if ssm is not None and ssm not in (1, 2, 4):
        raise Unknown(f"ssm is {ssm!r}, but must be 1, 2 or 4 bytes")
    speculative = whole(inputs, "speculative") if inputs.get("speculative") else 0
    return Serving(whole(inputs, "tp", 1) or 1, kept, 2, ssm, speculative or 0, ds_mla)


def _is_sparse(g: Geometry) -> bool:
    return any(c.kind == "index" for c in g.own()) and any(c.kind == "latent" for c in g.own())


def _kinds(g: Geometry, v: tuple[int, ...], s: Serving, inputs: Inputs, said: Said) -> Counter[Kind]:
    found = kinds(g, s, windows=v >= (0, 9), mtp=bool(inputs.get("mtp")))
    if not found:
        raise Unknown("the model keeps no cache between steps")
    if any(k.name == "recurrent" for k in found) and v < (0, 10):
        raise Unknown("recurrent layers were not read in versions before 0.10")
    if drafts := inputs.get("draft_full"):
        full = [k for k in found if k.name == "full"]
        if len(full) != 1:
            raise Unknown("draft layers of the model's own widths, but its full layers are not of one width")
        found[full[0]] += int(drafts)
        said.assumed.append(f"{drafts} draft layer(s) have the K and V widths of the model's own")
    if any(c.window for c in g.own()) and v < (0, 9):
        said.steps.append(Step("windows before 0.9", "windowed layers are kept as full ones"))
    return found


def _pool(found: Counter[Kind], g: Geometry, v: tuple[int, ...], inputs: Inputs, said: Said) -> Pool:
    latent = any(c.kind == "latent" for c in g.own())
    block = whole(inputs, "block") or (LATENT if latent else PLAIN)
    recurrent = [k for k in found if k.name == "recurrent"]
    attention = [k for k in found if k.name != "recurrent"]
    if (whole(inputs, "cp", 1) or 1) > 1:
        said.assumed.append("context parallelism: unproven by logs")
    tp = whole(inputs, "tp", 1) or 1
    if any(c.groups and c.groups % tp for c in g.own()):
        said.assumed.append(f"groups of B and C repeated for {tp} ranks: unproven by logs")
    if inputs.get("mode") == "all":
        said.assumed.append("mode all: unproven by logs")
    if "block" not in inputs and latent and not recurrent:
        said.assumed.append(f"a block of {LATENT}: the attention backend chooses it for MLA")
    if recurrent and attention:
        block = _hybrid_block(recurrent, attention, block, inputs, said)
    if len({(k.name, k.window) for k in found}) == 1:
        return _one_kind(found, v, block)
    return _groups(found, v, block, said)


def _one_kind(found: Counter[Kind], v: tuple[int, ...], block: int) -> Pool:
    if len(found) > 1 and (0, 9) <= v < (0, 11):
        raise Unknown("layers of one kind but different widths share a pool from 0.11 on only")
    kind = next(iter(found))
    whole_page = sum(n * k.each for k, n in found.items()) * (1 if kind.name == "recurrent" else block)
    return Pool(((kind, block),), 1, whole_page, block)


def _hybrid_block(
    recurrent: list[Kind], attention: list[Kind], block: int, inputs: Inputs, said: Said
) -> int:  # fmt: skip
    if len(recurrent) > 1 or len({k.each for k in attention}) > 1:
        raise Unknown("recurrent or attention layers of several sizes in one model are not among the rules")
    page, each, step = recurrent[0].each, attention[0].each, block
    if inputs.get("mode") == "all":
        chunk = whole(inputs, "chunk")
        if chunk is None:
            said.missing.append("chunk")
            raise Unknown("mode all makes the block a multiple of the kernel's chunk, which is an input")
        step = lcm(chunk, block)
    made = max(block, step * -int(-page // (step * each)))
    said.steps.append(Step("hybrid block", f"attention blocks of {made} tokens, so that a state of {page:,.0f} B fits"))
    return made


def _groups(found: Counter[Kind], v: tuple[int, ...], block: int, said: Said) -> Pool:
    least, most = min(found.values()), max(found.values())
    factor = 1.5 if v >= (0, 18) else 1.25 if v >= (0, 12) else 0
    size = most if most < factor * least else least
    if size != least:
        said.assumed.append(f"groups of {size} layers by the factor {factor}: unproven by logs")
    pages = {k: k.each * block for k in found if k.name != "recurrent"}
    page = max(pages.values())
    made: list[tuple[Kind, int]] = []
    for kind, n in found.items():
        made += [(kind, _block(kind, pages.get(kind, page), page, block))] * -(-n // size)
    padded = len(made) * size - sum(found.values())
    said.steps.append(Step("groups", f"{len(made)} groups of {size} layers" + (f", {padded} padded" if padded else "")))
    return Pool(tuple(made), size, page, block)


def _block(kind: Kind, own: float, page: float, block: int) -> int:
    if kind.name == "recurrent":
        return block
    if page % own:
        raise Unknown(
            f"pages of {own:,.0f} and {page:,.0f} B are no multiples: what the backend then does is not known"
        )
    return block * int(page // own)


def _sizes(pool: Pool, v: tuple[int, ...], inputs: Inputs, predicted: dict[str, Any], said: Said) -> None:
    length, cp = whole(inputs, "max_model_len"), whole(inputs, "cp", 1) or 1
    request = None if length is None else request_blocks(pool, v, -(-length // cp), inputs, said)
    smallest = min(b for _, b in pool.groups)
    if request is not None:
        predicted["request_gib"] = request * pool.block_bytes / GIB
    available, wanted = number(inputs, "available_gib"), whole(inputs, "tokens")
    if available is None and wanted is not None:
        _memory(pool, wanted, (v, length, request, smallest * cp), predicted)
        return
    if available is None:
        said.missing.append("available_gib")
        return
    blocks = int(available * GIB // pool.block_bytes)
    if v < (0, 20, 1):
        predicted["tokens"] = blocks // len(pool.groups) * smallest * cp
    if length is None:
        said.missing.append("max_model_len")
    elif v < (0, 9):
        predicted["concurrency"] = predicted["tokens"] / length
    elif request is not None:
        predicted["concurrency"] = blocks / request
        if v >= (0, 20, 1):
            predicted["tokens"] = int(blocks / request * length)


def _memory(
    pool: Pool, wanted: int, of: tuple[tuple[int, ...], int | None, int | None, int], predicted: dict[str, Any]
) -> None:
    """The inverse: memory that makes the log print so many tokens."""
    v, length, request, smallest = of
    if v < (0, 20, 1):
        blocks = -(-wanted // smallest) * len(pool.groups)
    elif length is None or request is None:
        return
    else:
        blocks = -(-wanted * request // length)
    predicted["available_gib"] = blocks * pool.block_bytes / GIB


ENGINE = Engine("vllm", RULES, INPUTS, predict, NEWEST)
