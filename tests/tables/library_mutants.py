"""Change one key of a published config at a time, and ask the library's own class what it makes of it.

Run by a Python that has torch and transformers (never by the product): `library_mutants.py CONFIGS COUNT [FIRST]`,
where CONFIGS is a folder of config.json files and FIRST the number of mutants to leave out. One JSON line per mutant:
file, path of the key, value (`ABSENT` takes the key away), and the change of the number of weights, or "error". The
same seed gives the same mutants, so that a run can go on.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
import transformers  # pyright: ignore[reportMissingImports]

SEED = 20261130
ABSENT = "ABSENT"
LARGEST = 40_000
"""Bytes of a config file; larger ones hold lists of rules."""
SLOW = 1_000_000_000_000
"""Weights beyond which building a class takes seconds."""
SAID = frozenset((
    "architectures", "model_type", "transformers_version", "auto_map", "id2label", "label2id", "torch_dtype", "dtype",
    "quantization_config", "vision_config", "audio_config", "_name_or_path", "task_specific_params",
))  # fmt: skip
NUMBERS = ("_token_id", "_token_ids", "_token_index")

Path_ = tuple[str, ...]


def configs(folder: Path) -> dict[str, dict[str, Any]]:
    """The configs of a folder whose class the library has, by file name."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.glob("*.json")):
        data: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.stat().st_size < LARGEST else {}
        name = str((data.get("architectures") or [None])[0])
        if data.get("model_type") in transformers.CONFIG_MAPPING and hasattr(transformers, name):
            found[file.stem] = data
    return found


def paths(data: dict[str, Any]) -> list[Path_]:
    """The keys that may be changed: at the top, and one level down in objects that are configs."""
    found: list[Path_] = []
    for key, value in data.items():
        if key in SAID or key.endswith(NUMBERS):
            continue
        if isinstance(value, dict) and key.endswith("config"):
            inner = (k for k, v in value.items() if k not in SAID and not isinstance(v, dict))
            found += [(key, k) for k in inner if not k.endswith(NUMBERS)]
        else:
            found.append((key,))
    return found


def other(value: Any, rng: random.Random) -> Any:
    """Another value: a neighbour, nothing, or one of another type."""
    if isinstance(value, bool):
        return rng.choice([not value, not value, ABSENT, None, "true", int(value)])
    if isinstance(value, int):
        return rng.choice([value * 2, max(1, value // 2), value + 1, 0, ABSENT, None, str(value), value + 0.5, -value])
    if isinstance(value, float):
        return rng.choice([value * 2, ABSENT, None, str(value)])
    if isinstance(value, str):
        return rng.choice(["silu", "gelu", ABSENT, None, 1, ""])
    if isinstance(value, list):
        return rng.choice([value[:-1], value + value[-1:], ABSENT, None, value[0] if value else 1, {}])
    return rng.choice([ABSENT, None, [], 1] if isinstance(value, dict) else [1, True, "x"])


def changed(data: dict[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    """A copy with one key changed or taken away."""
    made = copy.deepcopy(data)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    if value == ABSENT:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = value
    return made


def total(data: dict[str, Any]) -> int:
    """Weights of the class that the config names, tied ones once, built without memory."""
    config = transformers.CONFIG_MAPPING[data["model_type"]].from_dict(copy.deepcopy(data))
    with torch.device("meta"):
        model = getattr(transformers, data["architectures"][0])(config)
    return sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())


def answer(data: dict[str, Any], base: int, path: Path_, value: Any) -> int | str:
    """The change of the total, or "error" where the library refuses."""
    try:
        return total(changed(data, path, value)) - base
    except Exception:  # noqa: BLE001 - whatever the library raises is its refusal
        return "error"


def _base(data: dict[str, Any]) -> int:
    """The total of the file as published; one that the library does not build is left out like a slow one."""
    try:
        return total(data)
    except Exception:  # noqa: BLE001 - whatever the library raises is its refusal
        return SLOW


def main(folder: str, count: int, first: int = 0) -> None:
    """Print the mutants and their answers, those before the first left out."""
    warnings.filterwarnings("ignore")
    rng, known, bases = random.Random(SEED), configs(Path(folder)), dict[str, int]()
    names = sorted(known)
    for number in range(count):
        name = rng.choice(names)
        path = rng.choice(paths(known[name]))
        inner: Any = known[name]
        for step in path:
            inner = inner[step]
        value = other(inner, rng)
        if number < first:
            continue
        if name not in bases:
            bases[name] = _base(known[name])
        if bases[name] < SLOW:
            print(json.dumps([name, list(path), value, answer(known[name], bases[name], path, value)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:4]))
