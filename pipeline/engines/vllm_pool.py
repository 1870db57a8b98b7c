"""vLLM: the pool that layers share, and the blocks that one request takes of it (`vllm_rules`)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from pipeline.engines.record import Inputs, Step, Unknown, whole
from pipeline.engines.vllm_layers import Kind


class Pool(NamedTuple):
    """How layers share memory: one entry per group with its kind and block, layers of a group, bytes of a page."""

    groups: tuple[tuple[Kind, int], ...]
    layers: int
    page: float
    block: int

    @property
    def block_bytes(self) -> float:
        """Bytes that one block takes in all layers of a group."""
        return self.page * self.layers


class Said(msgspec.Struct):
    """What is taken as given, what has to be asked, and the steps, as they come up: gathered and then frozen."""

    assumed: list[str] = []
    missing: list[str] = []
    steps: list[Step] = []


def request_blocks(pool: Pool, v: tuple[int, ...], length: int, inputs: Inputs, said: Said) -> int | None:
    """Blocks of one request of this length, over all groups; None where an input is missing."""
    taken = [_taken(kind, block, v, length, inputs, said) for kind, block in pool.groups]
    return None if None in taken else sum(t for t in taken if t is not None)


def _taken(
    kind: Kind, block: int, v: tuple[int, ...], length: int, inputs: Inputs, said: Said
) -> int | None:  # fmt: skip
    if kind.name == "full":
        return -(-length // block)
    if kind.name == "recurrent":
        return _states(block, length, inputs, said)
    batched = _batched(v, inputs, said)
    if batched is None or kind.window is None:
        return None
    if kind.name == "chunked":
        said.assumed.append("chunked windows: unproven by logs")
        return -(-min(kind.window + batched, length) // block)
    return -(-min(kind.window - 1 + batched, length) // block) + 1


def _states(block: int, length: int, inputs: Inputs, said: Said) -> int | None:
    mode, ahead = inputs.get("mode"), int(inputs.get("speculative", 0))
    if mode is None:
        said.missing.append("mode")
        return None
    if mode not in ("none", "align", "all"):
        raise Unknown(f"mode is {mode!r}, but must be none, align or all")
    return {"none": 1, "align": 2, "all": -(-length // block)}[mode] + ahead


def _batched(v: tuple[int, ...], inputs: Inputs, said: Said) -> int | None:
    """Tokens that may be in flight beside a window."""
    wanted = ["F"] if v < (0, 26) else ["F", "batches"]
    absent = [name for name in wanted if name not in inputs]
    said.missing += absent
    if absent:
        return None
    return (whole(inputs, "F") or 1) * (whole(inputs, "batches") or 1 if v >= (0, 26) else 1)
