"""vLLM: how layers are put into groups that share blocks, over the stages of a pipeline (`vllm_rules`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from atlas.numbers.ranks import Undescribed, stage_bounds
from pipeline.engines.record import Geometry, Inputs, Said, Step, Unknown, whole
from pipeline.engines.vllm_layers import Kind, Placed
from pipeline.engines.vllm_pool import Pool
from pipeline.engines.vllm_versions import Version

Stage = Callable[[Placed], int]


def stage_of(g: Geometry, layers: list[Placed], v: Version, inputs: Inputs, said: Said) -> Stage:
    """Which pipeline stage holds a layer; raises `Unknown` where that was not read."""
    pp = whole(inputs, "pp", 1) or 1
    if pp == 1:
        return lambda _: 0
    if any(p.stack != "decoder" for p in layers) or inputs.get("draft_full"):
        raise Unknown("draft layers under pipeline parallelism are not among the rules")
    if v < (0, 11) and len({p.kind for p in layers}) > 1:
        raise Unknown("mixed layers under pipeline parallelism were not read in versions before 0.11")
    try:
        bounds = stage_bounds(g.n_layers, pp)
    except Undescribed as reason:
        raise Unknown(str(reason)) from reason
    said.assumed.append("pipeline parallelism: unproven by logs; available_gib is taken for that of every stage")
    return lambda p: next(i for i, (first, beyond) in enumerate(bounds) if first <= p.owner < beyond)


def one_kind(layers: list[Placed], v: Version, block: int, stage: Stage) -> Pool:
    """Layers of one kind share blocks: a block takes a page in every layer of the stage."""
    kinds = {p.kind for p in layers}
    if len(kinds) > 1 and v < (0, 11):
        raise Unknown("layers of one kind but different widths share a pool from 0.11 on only")
    if len(kinds) > 1 and v < (0, 18) and len({stage(p) for p in layers}) > 1:
        raise Unknown("layers of different widths under pipeline parallelism were not read in versions before 0.18")
    _same_but_for_values(list(kinds), v)
    kind = layers[0].kind
    pages = Counter[int]()
    for p in layers:
        pages[stage(p)] += p.kind.each * (1 if p.kind.name == "recurrent" else block)  # pyright: ignore[reportArgumentType]
    return Pool(((kind, block),), max(pages.values()), block)


def _same_but_for_values(kinds: list[Kind], v: Version) -> None:
    """Raise `Unknown` for full layers that differ in V alone: up to 0.27 their records are merged into one size."""
    full = [k.shape for k in kinds if k.name == "full"]
    if (0, 19) <= v < (0, 28) and len({s[:2] for s in full}) < len(full):
        raise Unknown("full layers that differ in the width of values alone are not among the rules before 0.28")


def mixed(layers: list[Placed], v: Version, block: int, stage: Stage, said: Said) -> Pool:
    """Layers of several kinds: groups of equal length, pages of equal size; raises `Unknown` where that cannot be."""
    by_kind: dict[Kind, list[Placed]] = {}
    for p in layers:
        by_kind.setdefault(p.kind, []).append(p)
    _same_but_for_values(list(by_kind), v)
    size = _group_size([len(found) for found in by_kind.values()], v, said)
    page = max(k.each * block for k in by_kind if k.name != "recurrent")
    made: list[tuple[Kind, int]] = []
    longest = 0
    for kind, found in by_kind.items():
        groups = -(-len(found) // size)
        made += [(kind, _block(kind, page, block, v, said))] * groups
        held = [Counter(stage(p) for p in found[i::groups]) for i in range(groups)]
        longest = max(longest, *(max(c.values()) for c in held))
    padded = len(made) * size - len(layers)
    said.steps.append(Step("groups", f"{len(made)} groups of {size} layers" + (f", {padded} padded" if padded else "")))
    return Pool(tuple(made), page * longest, block)


def _group_size(counts: list[int], v: Version, said: Said) -> int:
    least, most = min(counts), max(counts)
    factor = 1.5 if v >= (0, 18) else 1.25 if v >= (0, 12) else 0
    size = most if most < factor * least else least
    if size != least:
        said.assumed.append(f"groups of {size} layers by the factor {factor}: unproven by logs")
    return size


def _block(kind: Kind, page: float, block: int, v: Version, said: Said) -> int:
    """Tokens of a kind's block, so that its page is as large as the largest."""
    own = kind.each * block
    if kind.name == "recurrent" or own == page:
        return block
    if v < (0, 12):
        raise Unknown(f"pages of {own:,.0f} and {page:,.0f} B in one model, which the engine refuses before 0.12")
    if v >= (0, 28):
        said.assumed.append("a layout with layers outermost: packed layouts are unproven by logs")
    if page % own == 0:
        return block * int(page // own)
    if v < (0, 24):
        raise Unknown(f"pages of {own:,.0f} and {page:,.0f} B are no multiples, which the engine refuses before 0.24")
    said.assumed.append("smaller pages that are no divisors are padded: unproven by logs")
    said.steps.append(Step("padded pages", f"pages of {own:,.0f} B are padded to {page:,.0f} B"))
    return block
