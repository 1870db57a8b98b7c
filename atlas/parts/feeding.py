"""Dense feed-forward networks: two matrices or three (gated), one alone, a shared one, adapters behind one."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from atlas.numbers.structure import Feeding, Part, Tensor, part
from schemas.vocabulary import Component, Ffn, Role

F = Component.FFN_DENSE


class Mlp(NamedTuple):
    """Scalars of one dense feed-forward network, a convolution over `kernel` tokens where that is set."""

    d: int
    d_ff: int
    gated: bool
    bias: bool
    activation: str
    kernel: int | None = None


def matrices(
    prefix: str, d: int, d_ff: int, gated: bool, bias: bool, component: Component, stored: int = 1, touched: int = 1
) -> list[Tensor]:
    """Up and down projections, and a gate where there is one."""
    shapes = {"gate_proj": (d_ff, d)} if gated else {}
    shapes |= {"up_proj": (d_ff, d), "down_proj": (d, d_ff)}
    made = [Tensor(f"{prefix}.{n}.weight", s, component, Role.MATMUL, stored, touched) for n, s in shapes.items()]
    if bias:
        made += [
            Tensor(f"{prefix}.{n}.bias", s[:1], component, Role.VECTOR, stored, touched) for n, s in shapes.items()
        ]
    return made


@lru_cache(maxsize=8192)
def mlp(s: Mlp) -> Part:
    """A dense feed-forward network of these scalars."""
    info = Feeding(Ffn.DENSE, "mlp", s.d_ff, s.activation, s.gated)
    made = matrices("mlp", s.d, s.d_ff, s.gated, s.bias, Component.FFN_DENSE)
    if s.kernel is not None:
        made = [t._replace(shape=(*t.shape, s.kernel)) if t.role is Role.MATMUL else t for t in made]
    return part("ffn.dense", made, info=info)


@lru_cache(maxsize=256)
def matrix(d: int, name: str, component: Component) -> Part:
    """One square matrix where attention or a feed-forward network stood."""
    info = Feeding(Ffn.DENSE, "linear", d, "none", False) if component is Component.FFN_DENSE else None
    return part("linear", [Tensor(f"{name}.weight", (d, d), component)], info=info)


@lru_cache(maxsize=1024)
def shared_mlp(d: int, width: int, act: str) -> Part:
    """The shared network alone, as Granite's dense hybrids keep it: no routed experts, every token uses it."""
    made = matrices("shared_mlp", d, width, True, False, Component.EXPERTS_SHARED)
    return part("ffn.dense", made, info=Feeding(Ffn.DENSE, "mlp", width, act, True))


@lru_cache(maxsize=256)
def adapters(d: int, width: int, n: int) -> Part:
    """A small network per language behind the feed-forward; a token runs through that of its language (X-MOD)."""
    made: list[Tensor] = []
    for name, out, inside in (("dense1", width, d), ("dense2", d, width)):
        made.append(Tensor(f"output.adapter_modules.{{l}}.{name}.weight", (out, inside), F, Role.MATMUL, n, 1))
        made.append(Tensor(f"output.adapter_modules.{{l}}.{name}.bias", (out,), F, Role.VECTOR, n, 1))
    return part("adapters", made)
