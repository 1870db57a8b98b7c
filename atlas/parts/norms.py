"""Norms: by name and width, several in one part, behind low-rank gates, and vectors as wide as the hidden state."""

from __future__ import annotations

from functools import lru_cache

from atlas.numbers.structure import Part, Standing, Tensor, part
from schemas.vocabulary import Component, NormClass, Role

X = Component.OTHER


@lru_cache(maxsize=4096)
def norm(name: str, width: int, cls: str, bias: bool, stands: Standing | None = None) -> Part:
    """A norm over `width`: one vector (RMSNorm), two (LayerNorm with bias), or no weights; `stands` if of the ends."""
    if not NormClass(cls).has_weights:
        return part("norm", [], info=stands)
    made = [Tensor(f"{name}.weight", (width,), Component.NORM, Role.VECTOR)]
    made += [Tensor(f"{name}.bias", (width,), Component.NORM, Role.VECTOR)] * bias
    return part("norm", made, info=stands)


def vector(name: str, width: int, component: Component) -> Tensor:
    """A vector of weights."""
    return Tensor(name, (width,), component, Role.VECTOR)


@lru_cache(maxsize=1024)
def norms(names: tuple[str, ...], width: int, cls: str, bias: bool) -> Part:
    """Several norms of one width."""
    return part("norm", [t for n in names for t in norm(n, width, cls, bias).tensors])


@lru_cache(maxsize=1024)
def vectors(names: tuple[str, ...], width: int) -> Part:
    """Vectors as wide as the hidden state: residual scales and the like."""
    return part("scales", [vector(n, width, X) for n in names])


@lru_cache(maxsize=256)
def within(p: Part, component: Component) -> Part:
    """The same weights, booked with another component, as the reference books a norm inside attention's module."""
    return part(p.kind, tuple(t._replace(component=component) for t in p.tensors))


@lru_cache(maxsize=256)
def gated_norm(d: int, rank: int, norms: int) -> Part:
    """Low-rank gates on the outputs of `norms` norms; the reference books them with the dense networks."""
    shapes = {"fc1": (rank, d), "fc2": (d, rank)}
    made = [Tensor(f"norm{i}.mlp.{n}.weight", x, Component.FFN_DENSE) for i in range(norms) for n, x in shapes.items()]
    return part("norm.gates", made)


def linear(name: str, out: int, inside: int, component: Component, role: Role = Role.MATMUL) -> list[Tensor]:
    """A matrix and its bias."""
    return [Tensor(f"{name}.weight", (out, inside), component, role), vector(f"{name}.bias", out, component)]
