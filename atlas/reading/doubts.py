"""Keys that lower `known`: what the class does not read and nobody reviewed as saying nothing.

A number, a list, an object or a true may change a shape, a loop or a cache; a text, a false or a null that nothing
reads says that something is named or off. What only repeats an answer says nothing new, and what the row names is read
where it has an effect: `intermediate_size` where no layer is dense, `multi_query` where KV heads are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from atlas.families.loader import NEUTRAL, unread_by_class
from atlas.reading import classes
from atlas.refusal import shown

if TYPE_CHECKING:
    from atlas.reading.config import Config

MASK = "is_causal"
"""Where a wrapper says it beside its language model, which alone the library asks."""
WINDOW = "sliding_window"
MOST = 5
"""Keys that one sentence names."""


def doubts(c: Config, unread: Iterable[str]) -> tuple[str, ...]:
    """The unread keys that leave an answer assumed; a wrapper's keys are looked up beside the language model's."""
    found: list[str] = []
    for path in unread:
        key = path.removeprefix(c.prefix)
        value = c.raw[key] if path.startswith(c.prefix) and key in c.raw else c.outer.get(path)
        if (_speaks(value) or key == MASK) and key not in c.rules.named and not _silent(c, key, value):
            found.append(path)
    return tuple(found)


def _speaks(value: Any) -> bool:
    """Whether a value is of a kind that may say something of a shape."""
    return value is True or (type(value) in (int, float)) or (isinstance(value, list | dict) and bool(value))  # pyright: ignore[reportUnknownArgumentType]


def _silent(c: Config, key: str, value: Any) -> bool:
    """Whether a key of a speaking kind says nothing here: it repeats the answer, or the class is known not to read it.

    A file that brings code of its own may read whatever it states.
    """
    if key == WINDOW and _bounds(c, value):
        return False
    return _repeats(c, key, value) or (unread_by_class(c.rules.model_type, key) and not classes.remote(c.outer))


def _bounds(c: Config, window: Any) -> bool:
    """Whether a window that the class does not read bounds the cache all the same.

    The library's caches take `sliding_window` from any config without `layer_types` (transformers 5.24,
    cache_utils.py get_layer_types_and_kwargs), while the class's mask lets every token see all before it. One that is
    switched off, or never reached, bounds nothing.
    """
    longest = c.values["max_position_embeddings"]
    reached = type(longest) is not int or type(window) is not int or window < longest
    return reached and c.raw.get("use_sliding_window") is not False and not c.raw.get("layer_types")


def _repeats(c: Config, key: str, value: Any) -> bool:
    """Whether a value is the answer anyway, or one that is reviewed as saying nothing."""
    if key in NEUTRAL and value in NEUTRAL[key]:
        return True
    return key in c.values and type(c.values[key]) is type(value) and c.values[key] == value


def of_weights_alone(c: Config, keys: tuple[str, ...]) -> bool:
    """Whether a total that agrees would answer the doubt: a switch of biases touches no cache, no state and no read.

    A number, a list or an object never is: a looped model has the tensors and the total of its plain twin.
    """
    stated = {path: c.raw.get(path.removeprefix(c.prefix), c.outer.get(path)) for path in keys}
    return bool(keys) and all(path.endswith("_bias") and value is True for path, value in stated.items())


def sentence(model_type: str, keys: tuple[str, ...]) -> str:
    """Why an answer is assumed, for people."""
    named = ", ".join(shown(k) for k in keys[:MOST]) + (f" and {len(keys) - MOST} more" if len(keys) > MOST else "")
    return (
        f"assumed: no class of {model_type} reads {named}, and nobody has reviewed what such a key says of this model"
    )
