"""vLLM: blocks, the tokens it prints and the concurrency, from the memory that profiling left (`vllm_rules`)."""

from __future__ import annotations

from math import lcm
from typing import Any

from pipeline.engines.record import (
    GIB,
    Engine,
    Geometry,
    Inputs,
    Prediction,
    Said,
    Step,
    Unknown,
    count,
    kept,
    number,
    switch,
    version_of,
    whole,
)
from pipeline.engines.types import DTYPE_BYTES, Kept
from pipeline.engines.vllm_groups import mixed, one_kind, stage_of
from pipeline.engines.vllm_layers import Kind, Placed, Serving, placed
from pipeline.engines.vllm_pool import Pool, Request, request_blocks
from pipeline.engines.vllm_rules import INPUTS, RULES
from pipeline.engines.vllm_versions import (
    LATENT,
    PLAIN,
    Version,
    checkpoints,
    drafted_columns,
    ds_mla,
    hybrid_step,
    mixed_kinds,
)

NEWEST = "0.33.0"
OLDEST_LATENT = (0, 8)
_TAKES = frozenset({"bf16", "fp16", "fp8", "fp8_per_token_head", "int8", "nvfp4"})
_STATE_WIDTHS = (1, 2, 4)


def predict(g: Geometry, version: str, inputs: Inputs) -> Prediction:
    """What vLLM of this version prints at start-up for this model.

    Raises `Unknown` where the rules do not cover the model.
    """
    v, said = version_of(version), Said()
    _of_version(g, version, v, said)
    layers = _layers(g, v, inputs, said)
    pool = _pool(layers, g, v, inputs, said)
    predicted: dict[str, int | float] = {}
    if len({p.kind.name == "recurrent" for p in layers}) > 1:
        predicted["block"] = pool.block
    _sizes(pool, g, v, inputs, predicted, said)
    return Prediction(
        predicted=predicted, assumed=tuple(dict.fromkeys(said.assumed)), missing=tuple(dict.fromkeys(said.missing)),
        steps=tuple(said.steps),
    )  # fmt: skip


def _of_version(g: Geometry, version: str, v: Version, said: Said) -> None:
    """What a version is outside of the releases that were read; raises `Unknown` where too much is not known."""
    if v > version_of(NEWEST):
        said.assumed.append(f"version {version}: rules read up to {NEWEST}")
    if v < OLDEST_LATENT and any(c.kind == "latent" for c in g.own()):
        raise Unknown("how versions before 0.8 keep a latent was not read")
    if v == (0, 20):
        said.assumed.append("0.20 is taken for 0.20.0: the size printed has another meaning from 0.20.1 on")


def _layers(g: Geometry, v: Version, inputs: Inputs, said: Said) -> list[Placed]:
    serving = _serving(g, v, inputs, said)
    mtp = switch(inputs, "mtp", default=False)
    found = placed(g, serving, windows=mixed_kinds(g, v, inputs, said), mtp=mtp)
    if any(p.kind.name == "recurrent" for p in found) and v < (0, 10):
        raise Unknown("recurrent layers were not read in versions before 0.10")
    if drafts := count(inputs, "draft_full"):
        full = list(dict.fromkeys(p.kind for p in found if p.kind.name == "full"))
        if len(full) != 1:
            raise Unknown("draft layers of the model's own widths, but its full layers are not of one width")
        if drafts > len(found):
            raise Unknown(f"{drafts:,} draft layers are more than the model has layers of its own")
        found += [Placed("draft", i, full[0]) for i in range(drafts)]
        said.assumed.append(f"{drafts} draft layer(s) have the K and V widths of the model's own")
    return found


def _serving(g: Geometry, v: Version, inputs: Inputs, said: Said) -> Serving:
    kv, ssm = str(inputs.get("kv", "auto")), inputs.get("ssm")
    if DTYPE_BYTES.get(g.dtype or "") != 2:
        said.assumed.append(f"the model runs at 2 bytes (its config states {g.dtype or 'no type'})")
    if kv == "auto" and g.quant_method in ("modelopt", "compressed-tensors", "quark"):
        said.assumed.append(
            f"kv is the model's type, unless the {g.quant_method} checkpoint states another for its cache"
        )
    special = ds_mla(g, v, kv, said)
    cache = _cache_type(g, "fp8" if kv == "fp8_ds_mla" else kv, inputs, said)
    if ssm is not None and (isinstance(ssm, bool) or ssm not in _STATE_WIDTHS):
        raise Unknown(f"ssm is {ssm!r}, but must be 1, 2 or 4 bytes")
    return Serving(
        v, whole(inputs, "tp", 1) or 1, cache, 2, ssm, count(inputs, "speculative"), drafted_columns(v), special
    )


def _cache_type(g: Geometry, kv: str, inputs: Inputs, said: Said) -> Kept:
    found = kept({**inputs, "kv": kv}, "kv", "bf16", _TAKES)
    if found.per_head or found.name == "nvfp4":
        said.assumed.append(f"a cache at {found.name}: unproven by logs")
    if any(c.kind == "index" for c in g.own()):
        said.assumed.append("an indexer's own layer of 132 bytes a token: unproven by logs")
    if found.per_head and any(c.kind == "latent" for c in g.own()):
        raise Unknown(f"a latent at {found.name} is not among the rules")
    return found


def _pool(layers: list[Placed], g: Geometry, v: Version, inputs: Inputs, said: Said) -> Pool:
    latent = any(c.kind == "latent" for c in g.own())
    block = whole(inputs, "block") or (LATENT if latent else PLAIN)
    found = list(dict.fromkeys(p.kind for p in layers))
    recurrent = [k for k in found if k.name == "recurrent"]
    attention = [k for k in found if k.name != "recurrent"]
    _caveats(g, inputs, said)
    if "block" not in inputs and latent and not recurrent:
        said.assumed.append(f"a block of {LATENT}: the attention backend chooses it for MLA")
    if recurrent and attention:
        block = _hybrid_block(recurrent, attention, block, (v, inputs), latent=latent, said=said)
    stage = stage_of(g, layers, v, inputs, said)
    if len({(k.name, k.window) for k in found}) == 1:
        return one_kind(layers, v, block, stage)
    return mixed(layers, v, block, stage, said)


def _caveats(g: Geometry, inputs: Inputs, said: Said) -> None:
    tp = whole(inputs, "tp", 1) or 1
    if (whole(inputs, "cp", 1) or 1) > 1:
        said.assumed.append("context parallelism: unproven by logs")
    if any(c.groups and c.groups % tp for c in g.own()):
        said.assumed.append(f"groups of B and C repeated for {tp} ranks: unproven by logs")
    if inputs.get("mode") == "all":
        said.assumed.append("mode all: unproven by logs")


def _hybrid_block(
    recurrent: list[Kind], attention: list[Kind], block: int, of: tuple[Version, Inputs], *, latent: bool, said: Said
) -> int:  # fmt: skip
    v, inputs = of
    if len(recurrent) > 1 or len({k.each for k in attention}) > 1:
        raise Unknown("recurrent or attention layers of several sizes in one model are not among the rules")
    page, each, step = recurrent[0].each, attention[0].each, hybrid_step(block, v, latent=latent)
    if inputs.get("mode") == "all":
        chunk = whole(inputs, "chunk")
        if chunk is None:
            raise Unknown("chunk is needed: mode all makes the block a multiple of the kernel's chunk")
        step = lcm(chunk, step)
    made = max(block, step * -int(-page // (step * each)))
    said.steps.append(Step("hybrid block", f"attention blocks of {made} tokens, so that a state of {page:,.0f} B fits"))
    return made


def _sizes(pool: Pool, g: Geometry, v: Version, inputs: Inputs, predicted: dict[str, Any], said: Said) -> None:
    length, cp = whole(inputs, "max_model_len"), whole(inputs, "cp", 1) or 1
    request = None
    if length is not None:
        align = inputs.get("mode") == "align" and any(k.name == "recurrent" for k, _ in pool.groups)
        more = checkpoints(g, v, inputs, said) if align else 0
        request = request_blocks(pool, Request(length, v, inputs, more), said)
    smallest = min(b for _, b in pool.groups)
    if request is not None:
        predicted["request_gib"] = request * pool.block_bytes / GIB
    available, wanted = number(inputs, "available_gib"), whole(inputs, "tokens")
    if available is None and wanted is not None:
        _memory(pool, wanted, (v, length, request, smallest * cp), predicted, said)
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
    pool: Pool, wanted: int, of: tuple[Version, int | None, int | None, int], predicted: dict[str, Any], said: Said
) -> None:
    """The inverse: memory that makes the log print so many tokens."""
    v, length, request, smallest = of
    if v < (0, 20, 1):
        blocks = -(-wanted // smallest) * len(pool.groups)
    elif length is None or request is None:
        said.missing += ["max_model_len"] if length is None else []
        return
    else:
        blocks = -(-wanted * request // length)
    predicted["available_gib"] = blocks * pool.block_bytes / GIB


ENGINE = Engine("vllm", RULES, INPUTS, predict, NEWEST)
