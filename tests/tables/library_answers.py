"""Ask the library again what short models weigh and what its configuration classes hold; write the answers as data.

    make library REFERENCE=python        (a Python that has torch and transformers 5.24)

It writes `fixtures/built.jsonl` and `fixtures/library_configs.json`. A change that leaves the library's total as it was
is left out, and so is what this project refuses; a total that differs from ours is printed and left out: look at each.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support")]

FIXTURES = ROOT / "tests/fixtures"
WITH_TOWERS = {"git", "kyutai_speech_to_text", "phi4_multimodal"}
"""Classes that build towers inside of the language model's class."""
TWICE = {"longcat_flash", "zaya"}
"""LongCat's depth stands under two keys, of which the library takes the other; Zaya's biases are buffers there."""
LISTS = ("layer_types", "mlp_layer_types", "rope_parameters")


def asked(python: str, program: str, questions: Any) -> str:
    """What a program beside this one prints."""
    path = str(ROOT / "tests/tables" / program)
    return subprocess.run(
        [python, path], input=json.dumps(questions), stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def rows() -> tuple[list[str], list[str]]:
    """Rows of text models that the library has a class for, and wrappers."""
    from class_defaults import committed

    from atlas.families import available, family, known

    every, without = [t for t in sorted(available()) if known(t)], set(committed()["no_class"])
    texts = [t for t in every if family(t).text is None and t not in without]
    return texts, [t for t in every if family(t).text is not None]


def keys(row: str) -> list[str]:
    """The keys that a row reads, those of its encoder too."""
    from atlas.families import family

    rules = family(row)
    found = {k for f in {*rules.defaults, *rules.keys, *rules.reads} for k in rules.keys.get(f, (f,))}
    found |= {k for each in (rules.encoder.keys.values() if rules.encoder else ()) for k in each}
    return sorted(k for k in found if "." not in k and k not in LISTS)


def chosen(line: dict[str, Any]) -> Iterator[list[Any]]:
    """The usual total of each class, and the first change of each key that moves it."""
    from mutants import weights

    from atlas.interpret import derive

    base, seen = line["totals"][0][2], set[str]()
    for cls, change, total in line["totals"]:
        key = next(iter(change), None)
        if total == "error" or (key is not None and (key in seen or total == base)):
            continue
        found = derive({"model_type": line["row"], "architectures": [cls], **line["base"], **change})
        if found.model is None:
            continue
        if total not in (weights(found), found.fingerprint.params_total):
            print(f"differs: {line['row']} {cls} {change}: library {total}, ours {weights(found)}")
            continue
        seen |= {key} if key is not None else set()
        yield ["" if cls == line["class"] else cls, change, total]


def kept(line: dict[str, Any]) -> str:
    """A line of the file."""
    called = {k: v for k, v in line["called"].items() if k != "error"}
    short = {k: line[k] for k in ("row", "class", "base", "shared")} | {"totals": list(chosen(line))}
    return json.dumps(short | ({"called": called} if called else {}), separators=(",", ":"))


def table(found: dict[str, Any]) -> str:
    """One line for each row."""
    return ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items())


def main(python: str) -> None:
    """Ask both programs, and write both files."""
    from atlas.families import family

    texts, wrappers = rows()
    lines = map(json.loads, asked(python, "library_built.py", {t: keys(t) for t in texts}).splitlines())
    built = [kept(line) for line in lines if line["row"] not in WITH_TOWERS | TWICE]
    (FIXTURES / "built.jsonl").write_text("\n".join(built) + "\n", "utf-8")
    said = json.loads(asked(python, "library_configs.py", {"wrappers": wrappers, "texts": texts}))
    for name, each in said["wrappers"].items():
        values = each.pop("values")
        told = {k: values[k] for k in family(name).text_defaults if k in values}
        each.update({"values": told} if told else {})
    listed = {name: each for name, each in said["texts"].items() if len(each) > 1}
    head = '"source": "transformers 5.24, by tests/tables/library_configs.py"'
    text = f'{{\n{head},\n"wrappers": {{\n{table(said["wrappers"])}\n}},\n"texts": {{\n{table(listed)}\n}}\n}}\n'
    (FIXTURES / "library_configs.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
