"""vLLM: the pool that layers share, and the blocks that one request takes of it (`vllm_rules`)."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.engines.record import Inputs, Said, Unknown, count, whole
from pipeline.engines.vllm_layers import Kind


class Pool(NamedTuple):
    """How layers share memory: one entry per group with its kind and block, and the bytes that one block takes.

    `block_bytes` are of the stage that takes most; `block` is that of the attention layers.
    """

    groups: tuple[tuple[Kind, int], ...]
    block_bytes: float
    block: int


class Request(NamedTuple):
    """A request: its tokens, the version, the inputs, and the states that mode align keeps beside two."""

    length: int
    version: tuple[int, ...]
    inputs: Inputs
    checkpoints: int


def request_blocks(pool: Pool, request: Request, said: Said) -> int | None:
    """Blocks of one request over all groups; None where an input is missing."""
    taken = [_taken(kind, block, request, said) for kind, block in pool.groups]
    return None if None in taken else sum(t for t in taken if t is not None)


def _taken(kind: Kind, block: int, r: Request, said: Said) -> int | None:
    cp = whole(r.inputs, "cp", 1) or 1
    if kind.name == "full":
        share = -(-r.length // cp)
        return -(-share // block)
    if kind.name == "recurrent":
        return _states(block, r, said)
    if cp > 1:
        raise Unknown("windowed layers under context parallelism are refused by the engine")
    batched = _batched(r, said)
    if batched is None or kind.window is None:
        return None
    if kind.name == "chunked":
        said.assumed.append("chunked windows: unproven by logs")
        return -(-min(kind.window + batched, r.length) // block)
    return -(-min(kind.window - 1 + batched, r.length) // block) + 1


def _states(block: int, r: Request, said: Said) -> int | None:
    mode, ahead = r.inputs.get("mode"), count(r.inputs, "speculative")
    if mode is None:
        said.missing.append("mode")
        return None
    if mode not in ("none", "align", "all"):
        raise Unknown(f"mode is {mode!r}, but must be none, align or all")
    if mode == "all" and r.version >= (0, 33):
        raise Unknown("mode all is not in 0.33")
    return {"none": 1, "align": 2 + r.checkpoints, "all": -(-r.length // block)}[str(mode)] + ahead


def _batched(r: Request, said: Said) -> int | None:
    """Tokens that may be in flight beside a window."""
    wanted = ["F"] if r.version < (0, 26) else ["F", "batches"]
    absent = [name for name in wanted if name not in r.inputs]
    said.missing += absent
    if absent:
        return None
    return (whole(r.inputs, "F") or 1) * (whole(r.inputs, "batches") or 1 if r.version >= (0, 26) else 1)
