"""Build the library's own classes as short models of every row, and note their weights and how they are called.

Run by a Python that has torch and transformers (never by the product): it reads questions, `{model_type: [key, ...]}`,
and prints one JSON line per model_type. Nothing has memory: all is on the `meta` device.

`totals` are weights, tied ones once: of every class that the library knows under the model_type, and of the usual one
with one key changed. `called` says what a forward of the base model calls: functions that make masks and that rotate,
how often each; the children of the last layer, in order; and the classes of norms and activations that were entered.
"""

from __future__ import annotations

import copy
import importlib
import json
import signal
import sys
import warnings
from collections import Counter
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
import transformers  # pyright: ignore[reportMissingImports]
from transformers.models.auto import modeling_auto  # pyright: ignore[reportMissingImports]

DEPTH, SECONDS = 5, 60
DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers", "encoder_layers",
          "num_decoder_layers", "num_encoder_layers")  # fmt: skip
CALLED = ("apply_rotary", "apply_multimodal_rotary", "build_alibi", "create_", "rotate_")
USUAL = ("MODEL_FOR_CAUSAL_LM", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM", "MODEL_FOR_MASKED_LM", "MODEL")


def made(model_type: str, keys: dict[str, Any]) -> Any:
    """A configuration of the library's class."""
    return transformers.CONFIG_MAPPING[model_type].from_dict({"model_type": model_type, **copy.deepcopy(keys)})


def total(cls: str, config: Any) -> int:
    """Weights of a class, tied ones once."""
    return sum(p.numel() for p in {id(p): p for p in built(cls, config).parameters()}.values())


def built(cls: str, config: Any) -> Any:
    """A model without memory."""
    with torch.device("meta"):
        return getattr(transformers, cls)(config)


def classes(model_type: str) -> list[str]:
    """The library's classes for a model_type, the usual one first."""
    names = [n.removesuffix("_MAPPING_NAMES") for n in dir(modeling_auto) if n.startswith("MODEL_")]
    found: list[str] = []
    for name in (*USUAL, *names):
        cls = getattr(modeling_auto, f"{name}_MAPPING_NAMES", {}).get(model_type)
        found += [c for c in (cls if isinstance(cls, tuple | list) else [cls]) if c and hasattr(transformers, c)]
    return list(dict.fromkeys(found))


def other(value: Any) -> list[Any]:
    """Other values of a key."""
    match value:
        case bool():
            return [not value]
        case int():
            return sorted({value * 2, value + 1}) if value > 0 else [1, 2]
        case float():
            return [value * 2]
        case None:
            return [True, 4]
        case _:
            return []


def base_of(model_type: str, cls: str) -> dict[str, int]:
    """The depth in every name that the class has, where the class then builds."""
    config = made(model_type, {})
    keys = {k: DEPTH for k in DEPTHS if type(getattr(config, k, None)) is int and k not in config.attribute_map}
    for tried in (keys, {}):
        try:
            total(cls, made(model_type, tried))
        except Exception:  # noqa: BLE001 - whatever the library raises is its refusal
            continue
        return tried
    raise ValueError(model_type)


def called(model_type: str, cls: str, keys: dict[str, Any]) -> dict[str, Any]:
    """What a forward over eight tokens calls."""
    config = made(model_type, keys)
    torch.set_default_dtype(torch.bfloat16)  # the products of experts know no other
    model = built(cls, config).eval()
    counts, order, entered = Counter[str](), list[str](), Counter[str]()
    spaces = {type(m).__module__ for m in model.modules() if ".models." in type(m).__module__}
    for space in map(importlib.import_module, spaces):
        for name in [n for n in vars(space) if n.startswith(CALLED)]:
            setattr(space, name, _counted(getattr(space, name), name, counts))
    lists = [m for m in model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) and list(m[-1].children())]
    layers = max(lists, key=lambda m: sum(1 for _ in m.modules()), default=None)
    for name, child in layers[-1].named_children() if layers is not None else ():
        child.register_forward_pre_hook(lambda m, a, n=name: order.append(n))
    for m in model.modules():
        if not list(m.children()):
            m.register_forward_pre_hook(lambda m, a: entered.update([type(m).__name__]))
    ids = torch.zeros((1, 8), dtype=torch.long, device="meta")
    try:
        with torch.no_grad():
            model(input_ids=ids, **({"decoder_input_ids": ids} if config.is_encoder_decoder else {}))
    except Exception as error:  # noqa: BLE001 - told
        return {"error": f"{type(error).__name__}: {error}"[:100]}
    kept = {n: c for n, c in entered.items() if not n.endswith(("Linear", "Embedding", "Dropout"))}
    return {"functions": dict(counts), "order": order, "modules": kept}


def shared(model: Any, config: Any) -> int:
    """Shared experts: as many as a key says, or one, where any weight is called so."""
    if not any("share" in part and part != "shared" for n, _ in model.named_parameters() for part in n.split(".")):
        return 0
    keys = config.to_dict()
    return next((n for k, n in keys.items() if k.endswith("shared_experts") and type(n) is int), 1)


def _counted(function: Any, name: str, counts: Counter[str]) -> Any:
    def asked(*args: Any, **kwargs: Any) -> Any:
        counts[name] += 1
        return function(*args, **kwargs)

    return asked


def answers(model_type: str, keys: list[str]) -> dict[str, Any]:
    """The line of a model_type."""
    names = classes(model_type)
    cls = names[0]
    base = base_of(model_type, cls)
    default = made(model_type, base)
    alike = shared(built(cls, default), default)
    said: dict[str, Any] = {"row": model_type, "class": cls, "base": base, "shared": alike, "totals": []}
    asked = [(c, {}) for c in names]
    asked += [(cls, {k: v}) for k in keys for v in other(base.get(k, getattr(default, k, "absent")))]
    for each, change in asked:
        signal.alarm(SECONDS)
        try:
            said["totals"].append([each, change, total(each, made(model_type, base | change))])
        except Exception:  # noqa: BLE001 - whatever the library raises is its refusal
            said["totals"].append([each, change, "error"])
        finally:
            signal.alarm(0)
    signal.alarm(SECONDS)
    said["called"] = called(model_type, cls, base)
    signal.alarm(0)
    torch.set_default_dtype(torch.float32)
    return said


def _late(*_: Any) -> None:
    raise TimeoutError


def main() -> None:
    """A line for each question."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    signal.signal(signal.SIGALRM, _late)
    for model_type, keys in json.load(sys.stdin).items():
        try:
            print(json.dumps(answers(model_type, keys)), flush=True)
        except Exception as error:  # noqa: BLE001 - told
            print(f"{model_type}: {type(error).__name__}: {error}"[:200], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
