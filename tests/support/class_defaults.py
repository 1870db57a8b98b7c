"""Asks the library's configuration classes what they take for the keys that rows have defaults for; writes the answers.

Run as a program (`make class-defaults`) it rewrites `fixtures/class_defaults.json`, which the tests read. The library
is a reference, not a dependency: it is asked in the Python that `ATLAS_REFERENCE_PYTHON` names, or in this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from places import FIXTURES

from atlas.families import available, family, known

FILE = FIXTURES / "class_defaults.json"

ASK = """
import inspect, json, re, sys, warnings
warnings.filterwarnings("ignore")
import transformers
from transformers import CONFIG_MAPPING, PretrainedConfig

ABSENT = "<absent>"


def plain(value):
    if isinstance(value, PretrainedConfig):
        return {k: plain(v) for k, v in value.to_dict().items()}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def old_keys(cls):
    own = [c for c in cls.__mro__ if "__post_init__" in c.__dict__ and c is not PretrainedConfig]
    sources = [inspect.getsource(c.__dict__["__post_init__"]) for c in own]
    found = {}
    taken = r'kwargs\\.(?:pop|get)\\(\\s*"(\\w+)"(?:,\\s*([^()]+?))?\\s*\\)'
    for key, default in re.findall(taken, "\\n".join(sources)):
        try:
            found[key] = eval(default or "None")
        except Exception:
            found[key] = None
    return found


def answer(cls, made, key):
    first, _, rest = key.partition(".")
    value = getattr(made, first, ABSENT)
    for step in rest.split(".") if rest else ():
        value = value.get(step, ABSENT) if isinstance(value, dict) else getattr(value, step, ABSENT)
    return plain(value)


questions, answers, aliases = json.load(sys.stdin), {}, {}
for model_type, keys in questions.items():
    if model_type in CONFIG_MAPPING:
        cls = CONFIG_MAPPING[model_type]
        made, older = cls(), old_keys(cls)
        made.allow_global_per_layer_attribute_access = True
        aliases[model_type] = dict(cls.attribute_map or {})
        signature = {k: plain(f.default) for k, f in cls.__dataclass_fields__.items()}
        answers[model_type] = {
            k: [answer(cls, made, k), signature.get(k, ABSENT), plain(older.get(k, ABSENT))] for k in keys
        }
aliases = {m: names for m, names in aliases.items() if names}
json.dump({"transformers": transformers.__version__, "answers": answers, "aliases": aliases}, sys.stdout)
"""

Answers = dict[str, list[Any]]


def questions() -> dict[str, list[str]]:
    """For every row of a language model, the keys that its defaults stand for, and RoPE's table."""
    return {m: _asked(m) for m in sorted(available()) if known(m) and family(m).text is None}


def _asked(model_type: str) -> list[str]:
    rules = family(model_type)
    return sorted({k for f in rules.defaults for k in rules.keys.get(f, (f,))} | {"rope_parameters"})


def asked_of_the_library() -> dict[str, Any]:
    """The library's version, what a class calls alike, and by row and key what it holds: bare, signed, for old keys."""
    python = os.environ.get("ATLAS_REFERENCE_PYTHON") or sys.executable
    done = subprocess.run(
        [python, "-c", ASK], input=json.dumps(questions()), capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    return {**said, "answers": {m: _short(answers) for m, answers in said["answers"].items()}}


def _short(answers: Answers) -> Answers:
    """Each value once; what no class states is left out, and of RoPE's tables the one the class was made with."""
    kept = {k: _distinct(v[:1] if k == "rope_parameters" else v) for k, v in answers.items()}
    return {k: v for k, v in kept.items() if v}


def _distinct(found: list[Any]) -> list[Any]:
    said = [x for x in found if x != "<absent>" and "MISSING" not in str(x)]
    return [x for n, x in enumerate(said) if not any(x == y and type(x) is type(y) for y in said[:n])]


def committed() -> dict[str, Any]:
    """What the file says: the library's version, the answers, and the rows that it has no class for."""
    return json.loads(FILE.read_text("utf-8"))


def write() -> None:
    """Ask again, and write one line per row."""
    said, asked = asked_of_the_library(), questions()
    lines = [
        f"{json.dumps(m)}: {json.dumps(answers, sort_keys=True)}" for m, answers in sorted(said["answers"].items())
    ]
    absent = sorted(asked.keys() - said["answers"].keys())
    text = ",\n    ".join(lines)
    head = json.dumps("made by `make class-defaults`; do not edit")
    version, without = json.dumps(said["transformers"]), json.dumps(absent)
    alike = ",\n    ".join(
        f"{json.dumps(m)}: {json.dumps(a, sort_keys=True)}" for m, a in sorted(said["aliases"].items())
    )
    FILE.write_text(
        f'{{\n  "note": {head},\n  "transformers": {version},\n  "no_class": {without},\n'
        f'  "aliases": {{\n    {alike}\n  }},\n'
        f'  "answers": {{\n    {text}\n  }}\n}}\n',
        "utf-8",
    )
    pairs = sum(map(len, said["answers"].values()))
    print(f"{FILE.name}: {len(lines)} rows, {pairs:,} keys, transformers {said['transformers']}")


if __name__ == "__main__":
    write()
