"""Ask the library's configuration classes what a wrapper holds, and which kinds of layers a text model of 13 has.

Run by a Python that has transformers (never by the product): it reads `{"wrappers": [...], "texts": [...]}` and prints
one JSON object. A wrapper: the class's own tie, its inner configs by key with their model_type, which of them is the
text's, and that one's plain values. A text model: the lists of kinds that its class writes.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import transformers  # pyright: ignore[reportMissingImports]

LAYERS = 13
LISTS = ("layer_types", "mlp_layer_types", "layers_block_type")
DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")


def wrapper(model_type: str) -> dict[str, Any]:
    """What a bare wrapper holds."""
    made = transformers.CONFIG_MAPPING[model_type]()
    found = {k: getattr(made, k, None) for k in made.sub_configs}
    inner: dict[str, Any] = {k: v for k, v in found.items() if isinstance(v, transformers.PretrainedConfig)}
    text = made.get_text_config(decoder=True)
    key = next((k for k, v in inner.items() if v is text), None)
    plain = {k: v for k, v in text.to_dict().items() if isinstance(v, int | float | str)} if key else {}
    tie = getattr(made, "tie_word_embeddings", None)
    return {"tie": tie, "inner": {k: v.model_type for k, v in inner.items()}, "text": key, "values": plain}


def text_model(model_type: str) -> dict[str, Any]:
    """The lists of kinds that a class writes."""
    cls = transformers.CONFIG_MAPPING[model_type]
    depth = next(k for k in DEPTHS if k in cls().to_dict())
    made = cls(**{depth: LAYERS}).to_dict()
    return {"depth": depth} | {k: made[k] for k in LISTS if isinstance(made.get(k), list) and len(made[k]) == LAYERS}


def main() -> None:
    """Answer every question; what a class refuses is left out and told."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    questions, said = json.load(sys.stdin), {"wrappers": dict[str, Any](), "texts": dict[str, Any]()}
    for kind, ask in (("wrappers", wrapper), ("texts", text_model)):
        for model_type in questions[kind]:
            try:
                said[kind][model_type] = ask(model_type)
            except Exception as error:  # noqa: BLE001 - told
                print(f"{model_type}: {type(error).__name__}: {error}"[:150], file=sys.stderr)
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
