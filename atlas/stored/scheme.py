"""What a reader of settings gives: how every module is stored, and what else is in the files because of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from atlas.stored.form import Form, Part
from atlas.stored.settings import Settings
from atlas.stored.units import Unit

FUSING = 5
"""The version of transformers that began to keep a layer's experts as one tensor each way."""


class Context(NamedTuple):
    """What the readers of settings need to know of the model."""

    model_type: str
    dtype: str  # the file's word for what the unquantized tensors are kept in
    version: tuple[int, int] | None  # of the transformers that wrote the config
    attention_layers: int
    has_experts: bool
    has_towers: bool
    is_tied: bool = False
    heads: int | None = None
    value_dim: int | None = None
    architecture: str | None = None
    expert_dtype: str | None = None  # what a config says of its routed experts

    @property
    def fuses(self) -> bool:
        """Whether the writer held experts as one tensor, so that tools for linear layers did not see them."""
        return self.version is not None and self.version[0] >= FUSING


class Scheme(NamedTuple):
    """How a checkpoint is stored: a form for each module (None: as it was), the type of all others, what is added."""

    form: Callable[[Unit], Form | None]
    dtype: Callable[[Unit], str]
    added: tuple[Part, ...] = ()
    targets: tuple[Callable[[str], bool], ...] = ()  # each has to take a module, else names are not what they seem
    splits_experts: bool = False  # stacked experts are written one by one
    stacks_experts: bool = False  # experts are written as one tensor
    drops_buffers: bool = False  # persistent buffers that are no weights are not written
    takes_subclasses: bool = False  # a subclass of the linear layer is one too


Reader = Callable[[Settings, Context], Scheme]


def keeps(dtype: str) -> Callable[[Unit], str]:
    """Everything unquantized in one type."""
    return lambda _: dtype


def caches(c: Context, dtype: str, shape: tuple[int, ...]) -> tuple[Part, ...]:
    """A scale for keys and one for values of every attention layer."""
    return (Part("scale", dtype, shape),) * (2 * c.attention_layers)
