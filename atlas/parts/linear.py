"""Linear attention with its gates apart: a state of keys by values per head; decays, betas, gates where a row says so.

Yang et al. 2023 (GLA, arXiv 2312.06635) gate every key through a bottleneck; DeltaNet (arXiv 2406.06484) corrects what
a key recalls by a beta per head; the gated delta rule decays the state per head too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Mixing, Part, State, Tensor, part
from atlas.parts.norms import vector
from atlas.parts.state import FP32, reads, states
from schemas.vocabulary import Component, Mixer

R = Component.RECURRENT


class Linear(NamedTuple):
    """Scalars of one mixer: widths of keys and values over all heads; `groups` of heads share a key and a value."""

    d: int
    heads: int
    keys: int
    values: int
    groups: int = 1
    kernel: int = 0  # of a convolution before each of queries, keys and values; 0: none
    output_gate: bool = True
    key_gate_rank: int = 0  # of a gate per key; 0: none
    betas: bool = False
    decays: bool = False
    label: str = "gla"
    slots: int = 0  # of a memory per head that keys and values are written to through a gate; 0: keys by values
    whole_norm: bool = False  # the output's norm is over all heads
    key_decays: bool = False  # every key decays by itself, as its own gate says


@lru_cache(maxsize=1024)
def gated_linear(s: Linear) -> Part:
    """A mixer of these scalars; a step costs 2 FLOPs per state element for each of update, read, recall and decay."""
    keys, values, width = s.keys // s.groups, s.values // s.groups, s.values // s.heads
    shapes = {"q_proj": (s.keys, s.d), "k_proj": (keys, s.d), "v_proj": (values, s.d), "o_proj": (s.d, s.values)}
    shapes |= {"g_proj": (s.values, s.d)} if s.output_gate else {}
    shapes |= {"b_proj": (s.heads, s.d)} if s.betas else {}
    shapes |= {"a_proj": (s.heads, s.d)} if s.decays else {}
    if s.key_gate_rank:
        shapes |= {"gk_proj.0": (s.key_gate_rank, s.d), "gk_proj.1": (keys, s.key_gate_rank)}
    made = [Tensor(f"attn.{n}.weight", shape, R) for n, shape in shapes.items()]
    made += [vector("attn.gk_proj.1.bias", keys, R)] * (s.key_gate_rank > 0)
    made += [vector(f"attn.{n}", s.heads, R) for n in ("A_log", "dt_bias")] * s.decays
    convolved = {"q": s.keys, "k": keys, "v": values} if s.kernel else {}
    made += [Tensor(f"attn.{x}_conv1d.weight", (n, 1, s.kernel), R) for x, n in convolved.items()]
    made += [Tensor("attn.f_proj.weight", (s.heads // s.groups * s.slots, s.d), R)] * (s.slots > 0)
    made.append(vector("attn.o_norm.weight", s.values if s.whole_norm else width, R))
    size = s.slots * (s.keys + s.values) if s.slots else s.keys * width
    both = states(sum(convolved.values()), s.kernel, size, s.heads)
    kept: tuple[State, ...] = both if s.kernel else (State("constant", size, 0, width=FP32, heads=s.heads),)
    steps = 2 + s.betas + (s.decays or s.key_decays or s.slots > 0 or s.key_gate_rank > 0)
    return part("linear.gated", made, kept, reads(kept, 2 * steps * size), Mixing(Mixer.LINEAR_ATTENTION, s.label))
