"""Values of another type in published configs: none becomes another number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atlas.interpret import derive
from atlas.numbers.fingerprint import Fingerprint

STEP = 8
"""One config in so many; all of them take half a minute."""
WRONG = ("false", "4", 0, 1, True, 4.5, [], [1], {}, {"a": 1})
SAID = frozenset(("model_type", "architectures"))
CLOSED = frozenset(("quantization_config", "vision_config", "audio_config", "id2label", "label2id"))
NUMBERS = ("params_total", "params_active", "kv_bytes_per_token", "kv_bytes_128k", "state_bytes_constant", "n_layers")

Keys = tuple[str, ...]


def entries(config: dict[str, Any], above: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Every key of a config that holds a value, in its objects too."""
    for key, value in config.items():
        if value is not None and key not in SAID:
            yield (*above, key), value
        if isinstance(value, dict) and key not in CLOSED:
            yield from entries(value, (*above, key))


def put(config: dict[str, Any], path: Keys, value: Any) -> dict[str, Any]:
    """A copy with one value changed."""
    head, *rest = path
    return {**config, head: put(config[head], tuple(rest), value) if rest else value}


def others(value: Any) -> Iterator[Any]:
    """Values of another type; numbers of both kinds are of one."""
    for wrong in WRONG:
        numbers = all(type(v) in (int, float) for v in (value, wrong))
        if type(wrong) is not type(value) and not numbers:
            yield wrong


def numbers(row: Fingerprint) -> tuple[Any, ...]:
    """What a row says in numbers."""
    return tuple(getattr(row, name) for name in NUMBERS)


def test_no_value_of_another_type_becomes_another_number(shared: Path) -> None:
    """What stays known after a substitution has the numbers that it had."""
    wrong: list[str] = []
    for file in sorted((shared / "hub" / "configs").glob("*.json"))[::STEP]:
        config = json.loads(file.read_text("utf-8"))
        base = derive(config).fingerprint
        for path, value in entries(config) if base.verdict == "known" else ():
            for other in others(value):
                found = derive(put(config, path, other)).fingerprint
                if found.verdict == "known" and numbers(found) != numbers(base):
                    wrong.append(f"{file.stem}: {'.'.join(path)} = {other!r}")
    assert wrong == []
