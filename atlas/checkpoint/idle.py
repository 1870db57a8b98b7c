"""Keys and values that files keep and no model uses: of layers that read the cache of another.

The published files of Gemma 3n and of Gemma 4 E hold, for each such layer, the projections and the norm of an
ordinary layer of its type; transformers builds none of them (`is_kv_shared_layer`) and skips them on loading.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from atlas.numbers.shape import infos
from atlas.numbers.structure import Layer, Model, Tensor

_KEPT = re.compile(r"\.(?:[kv]_proj|[kv]_norm)\.")


def readers(model: Model) -> Mapping[int, int]:
    """The layers that read another's cache, by index, and the layer that makes it."""
    found = ((i, m.shared_from) for i, each in enumerate(_layers(model)) for m in infos(each)[0])
    return {i: source for i, source in found if source is not None}


def idle_elements(model: Model) -> int:
    """Elements of the keys and values that the layers of `readers` would have, were they layers of their own."""
    layers, sources = _layers(model), readers(model).values()
    return sum(t.stored * t.elements for source in sources for t in _kept(layers[source]))


def is_idle(name: str) -> bool:
    """Whether a tensor of a layer, by its name, is of keys or values."""
    return _KEPT.search(name) is not None


def _layers(model: Model) -> list[Layer]:
    return [each for run in model.stack() for _ in range(run.repeats) for each in run.layers]


def _kept(layer: Layer) -> list[Tensor]:
    return [t for p in layer.parts for t in p.tensors if is_idle(t.name)]
