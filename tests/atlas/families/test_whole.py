"""Rows are checked whole when they are loaded: what is misspelled, missing in the parent or said twice is an error."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from vocabulary import CODE

from atlas.families import available, family, loader, row
from atlas.families.loader import merged
from atlas.families.towers import TowerRow, tower_row
from atlas.families.whole import EVIDENCE, Miswritten, faults, vocabulary

ROWS = sorted(t for t in available() if not t.startswith("_"))


def wrong(own: dict[str, Any], parent: str | None = "llama") -> list[str]:
    """What is wrong with a row of this text that extends another."""
    base = {} if parent is None else {k: v for k, v in merged(parent).items() if k not in EVIDENCE}
    return list(faults({"extends": parent, **own} if parent else own, base, available()))


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"ends": "decodr"}, "ends: no end is called 'decodr'; the nearest is 'decoder'"),
        ({"layout": "mpd"}, "layout: no layout is called 'mpd'; the nearest is 'mpt'"),
        ({"ffn_layout": "no_fn"}, "ffn_layout: no ffn layout is called 'no_fn'; the nearest is 'no_ffn'"),
        ({"norms": "falkon"}, "norms: no norm reader is called 'falkon'; the nearest is 'falcon'"),
        ({"stacks": "by_clas"}, "stacks: no stack is called 'by_clas'; the nearest is 'by_class'"),
        ({"mixers": {"full": "gqaa"}}, "mixers.full: no part is called 'gqaa'; the nearest is 'gqa'"),
        ({"ffns": {"mlp": {"part": "mpl"}}}, "ffns.mlp: no part is called 'mpl'; the nearest is 'mlp'"),
        ({"mixers": {"a": {"part": "gqa", "sink": 1}}}, "mixers.a: no field is called 'sink'; the nearest is 'sinks'"),
        (
            {"mixers": {"full": {"part": "gqa", "fields": {"window": "sliding_windw"}}}},
            "mixers.full: no field is called 'sliding_windw'; the nearest is 'sliding_window'",
        ),
        ({"facts": {"sinsk": True}}, "facts.sinsk: no field is called 'sinsk'; the nearest is 'sinks'"),
        ({"defaults": {"ffn_bia": 8}}, "defaults.ffn_bia: no field is called 'ffn_bia'; the nearest is 'ffn_bias'"),
        ({"keys": {"o_biass": ["x"]}}, "keys.o_biass: no field is called 'o_biass'; the nearest is 'o_bias'"),
        ({"default": {"o_bias": True}}, "default: no key is called 'default'; the nearest is 'defaults'"),
        ({"encoder": {"fact": {}}}, "encoder.fact: no key is called 'fact'; the nearest is 'facts'"),
        ({"mtp": {"layer": []}}, "mtp.layer: no key is called 'layer'; the nearest is 'layers'"),
        ({"defaults": ["o_bias"]}, "defaults: must be a table"),
        ({"irrelevant": "n_ctx"}, "irrelevant: must be a list"),
        ({"unset": ["names.xyz"]}, "unset: the parent has no 'names.xyz'"),
        ({"unset": ["keys.o_bia"]}, "unset: the parent has no 'keys.o_bia'; the nearest is 'keys.o_bias'"),
        ({"unset": ["default"]}, "unset: the parent has no 'default'; the nearest is 'defaults'"),
        ({"defaults": {"vocab_size": 32000}}, "defaults.vocab_size: only repeats the parent"),
        ({"ffns": {"mlp": "mlp"}}, "ffns: only repeats the parent"),
    ],
)  # fmt: skip
def test_a_fault_names_the_key_and_the_nearest_right_spelling(own: dict[str, Any], said: str) -> None:
    """Each kind of slip is found in a row that extends llama."""
    assert wrong(own) == [said]


def test_a_row_of_an_unknown_parent_or_language_model_is_wrong() -> None:
    """`extends` and a wrapper's `family` name rows."""
    assert wrong({"extends": "lama"}, None) == ["extends: no row is called 'lama'; the nearest is 'llama'"]
    text = {"text": {"key": "text_config", "family": "gema3_text"}}
    assert wrong(text, None) == ["text.family: no row is called 'gema3_text'; the nearest is 'gemma3_text'"]


def test_what_is_unset_may_be_said_again() -> None:
    """After `unset` the parent says nothing: the same value is an entry of the row's own; true does not repeat 1."""
    assert wrong({"unset": ["defaults"], "defaults": {"vocab_size": 32000}}) == []
    assert wrong({"defaults": {"tie_word_embeddings": 0}}) == []


def test_a_miswritten_row_is_named_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the file, and one message holds everything that is wrong with it."""
    texts = {"zz_new": {"extends": "llama", "ends": "decodr", "unset": ["defaults.no_such"]}}
    monkeypatch.setattr(loader, "row", lambda name: texts.get(name) or row(name))
    monkeypatch.setattr(loader, "available", lambda: available() | texts.keys())
    with pytest.raises(Miswritten) as caught:
        family("zz_new")
    assert str(caught.value).split("\n") == [
        "families/zz_new.toml: unset: the parent has no 'defaults.no_such'; the nearest is 'defaults.o_bias'",
        "families/zz_new.toml: ends: no end is called 'decodr'; the nearest is 'decoder'",
    ]


@pytest.mark.parametrize("model_type", [*ROWS, "_assumed"])
def test_every_row_is_whole(model_type: str) -> None:
    """Each row loads: the check finds nothing."""
    assert family(model_type).model_type == model_type


@pytest.mark.parametrize(("kind", "code"), CODE.items())
def test_the_vocabulary_is_that_of_the_code(kind: str, code: dict[str, Any]) -> None:
    """`_vocabulary.toml` lists what the code has, all of it and nothing else."""
    assert sorted(code.keys() - vocabulary()[kind]) == [], "in the code, not in the list"
    assert sorted(vocabulary()[kind] - code.keys()) == [], "in the list, not in the code"


def spoken() -> Iterator[str | re.Pattern[str]]:
    """Every text in the code of the atlas, and a pattern for every text put together there."""
    for path in Path(loader.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            if isinstance(node, ast.JoinedStr) and any(isinstance(v, ast.Constant) for v in node.values):
                parts = [re.escape(str(v.value)) if isinstance(v, ast.Constant) else r"\w+" for v in node.values]
                yield re.compile("".join(parts))


def renamed() -> set[str]:
    """Fields that parts of some row see under another name, that switch what it has beside, or say how it generates."""
    rows = [r for t in (*ROWS, "_assumed") for r in (family(t), family(t).encoder) if r is not None]
    specs = [s for r in rows for table in (r.mixers, r.ffns) for each in table.values() for s in each]
    blocks = {r.facts["blockwise"] for r in rows if "blockwise" in r.facts}
    blocks |= {r.facts["stands_beside"]["when"] for r in rows if "when" in r.facts.get("stands_beside", {})}
    blocks |= {n for r in rows if "modules" in r.facts for n in of_modules(tower_row(r.facts["modules"]))}
    return blocks.union(name for s in specs for name in s.fields.values())


def of_modules(beside: TowerRow) -> Iterator[str]:
    """Every name in the arithmetic of a row of modules."""
    stacks = [t for s in beside.stacks for t in (s.times, s.over, s.index)]
    axes = [t for s in beside.stacks for m in s.modules for t in (*m.shape, m.copies, m.bias)]
    for text in (*stacks, *axes, *beside.sizes.values(), *beside.demands):
        yield from (node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


def test_every_field_of_the_vocabulary_is_asked_for() -> None:
    """A field that no part, layout or end reads could be misspelled in a row without anything noticing."""
    said = list(spoken())
    texts, patterns = {s for s in said if isinstance(s, str)}, [s for s in said if isinstance(s, re.Pattern)]
    left = vocabulary()["fields"] - texts - renamed()
    assert {f for f in left if not any(p.fullmatch(f) for p in patterns)} == set()
