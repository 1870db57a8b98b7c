"""vLLM: what differs from version to version, each boundary as read in the released source (`vllm_rules`)."""

from __future__ import annotations

from atlas.numbers.caches import Cache
from pipeline.engines.record import Geometry, Inputs, Said, Step, Unknown, switch

Version = tuple[int, ...]

PLAIN, LATENT, LATENT_LATER = 16, 64, 128
_STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def mixed_kinds(g: Geometry, v: Version, inputs: Inputs, said: Said) -> bool:
    """Whether windowed layers keep their windows beside full ones: the hybrid manager of 0.9, where it is not off."""
    if v < (0, 9):
        if any(c.window for c in g.own()):
            said.steps.append(Step("windows before 0.9", "windowed layers are kept as full ones"))
        return False
    chunked = any(c.chunked for c in g.own())
    if chunked and v >= (0, 10) and "hybrid" not in inputs:
        said.steps.append(Step("chunked layers", "the hybrid manager is off: chunked layers are kept as full ones"))
        return False
    if not switch(inputs, "hybrid", default=True):
        said.steps.append(Step("hybrid manager off", "windowed layers beside full ones are kept as full ones"))
        return not _beside_full(g)
    return True


def _beside_full(g: Geometry) -> bool:
    bounds = {c.window is None for c in g.own() if not c.is_recurrent}
    return len(bounds) > 1


def is_sparse(g: Geometry) -> bool:
    """Whether a latent has an indexer beside it."""
    own = g.own()
    return any(c.kind == "index" for c in own) and any(c.kind == "latent" for c in own)


def ds_mla(g: Geometry, v: Version, kv: str, said: Said) -> bool:
    """Whether a latent takes the layout of 656 bytes: as asked for, or what the engine makes of fp8 (0.11: of auto)."""
    if kv == "fp8_ds_mla":
        said.assumed.append("fp8_ds_mla, 656 bytes a token and layer: unproven by logs")
        return True
    if not is_sparse(g) or v < (0, 11):
        return False
    by_itself = v < (0, 12) and kv == "auto" and (g.model_type or "") == "deepseek_v32"
    if not by_itself and not kv.startswith("fp8"):
        return False
    backend = "" if v < (0, 18) else ", the FlashMLA backend's (FlashInfer's keeps plain fp8)"
    said.assumed.append(f"fp8_ds_mla, 656 bytes a token and layer{backend}: unproven by logs")
    return True


def drafted_columns(v: Version) -> frozenset[str]:
    """Mixers whose convolution keeps the columns of drafted tokens too."""
    found = {"gdn"}
    if v >= (0, 18):
        found.add("mamba2")
    if v >= (0, 27):
        found.add("kda")
    if v >= (0, 33):
        found.add("conv")
    return frozenset(found)


def state_bytes(c: Cache, g: Geometry, v: Version, model_bytes: int) -> int:
    """Bytes of a state's element where no option says otherwise; raises `Unknown` for a type not known."""
    family = g.model_type or ""
    if c.mixer == "kda":
        return 4
    if family.startswith("nemotron_h"):
        return _nemotron(g, v, model_bytes)
    if not family.startswith("qwen3_5") or g.state_dtype is None:
        return model_bytes
    return _stated(g.state_dtype)


def _nemotron(g: Geometry, v: Version, model_bytes: int) -> int:
    """0.12 does not read the config's type; 0.14 takes float16 where none is stated, 0.20.1 float32."""
    if v < (0, 13):
        return model_bytes
    if g.state_dtype is not None:
        return _stated(g.state_dtype)
    if (0, 14) <= v < (0, 19):
        return 2
    if v >= (0, 20, 1):
        return 4
    raise Unknown(
        "ssm is needed: the config states no mamba_ssm_cache_dtype, and which type this version takes is not read"
    )


def _stated(dtype: str) -> int:
    if dtype not in _STATE_BYTES:
        raise Unknown(f"the config's state type {dtype!r} is not known")
    return _STATE_BYTES[dtype]


def hybrid_step(block: int, v: Version, *, latent: bool) -> int:
    """What the attention block of a recurrent hybrid is a multiple of."""
    if not latent:
        return PLAIN if v < (0, 20) else block
    return max(block, LATENT_LATER) if v >= (0, 27) else LATENT if v < (0, 20) else block


def checkpoints(g: Geometry, v: Version, inputs: Inputs, said: Said) -> int:
    """States that mode align keeps for a prefill checkpoint, beside two: read at 0.33, absent up to 0.27.1."""
    if "checkpoint" in inputs:
        return int(switch(inputs, "checkpoint", default=False))
    if v <= (0, 27, 99):
        return 0
    if v >= (0, 33) and any(c.mixer == "mamba2" for c in g.own()):
        said.assumed.append("one more state for prefill checkpoints: unproven by logs")
        return 1
    said.assumed.append("no state for prefill checkpoints: after 0.27.1 some kernels keep one (checkpoint=1)")
    return 0
