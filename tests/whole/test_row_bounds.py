"""Whatever a config holds, its row is one that a snapshot takes: a single bad file must not stop a refresh."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import homes
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.families.loader import available
from atlas.interpret import derive
from pipeline.refresh import holding
from pipeline.refresh.records import Options
from pipeline.refresh.steps import gather, publish, refresh, tabulate
from pipeline.sources import catalogue
from schemas.fields import FINGERPRINT, Field

CONFIGS = [json.loads(e.raw) for e in catalogue.load()]
AWKWARD: list[Any] = [
    -1, 0, -1.5, 0.5, 1e308, -1e308, 2**31, 2**63, 2**64, 10**30, True, False, None, "x", "", "64", "a" * 300, [], {},
    [1], [None], [-1], {"a": 1}, 1e-320, math.inf, math.nan, -0.0, 3,
]  # fmt: skip
TYPES = {"int": (int,), "real": (int, float), "text": (str,), "flag": (bool,)}


def places(config: dict[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every key of a config and of the objects in it."""
    found = [(*above, key) for key in config]
    for key, value in config.items():
        found += places(value, (*above, key)) if isinstance(value, dict) else []
    return found


@st.composite
def spoiled(draw: st.DrawFn) -> dict[str, Any]:
    """A real config with one or two values that may not be there."""
    config = json.loads(json.dumps(draw(st.sampled_from(CONFIGS))))
    for _ in range(draw(st.integers(1, 2))):
        *path, last = draw(st.sampled_from(places(config)))
        holder = config
        for key in path:
            holder = holder[key]
        holder[last] = copy.deepcopy(draw(st.sampled_from(AWKWARD)))  # shared, the second would spoil the first
    return config


def wrong(field: Field, value: Any) -> bool:
    """Whether a table would refuse the value, or could not hold it."""
    if value is None or field.kind not in TYPES:
        return False
    if type(value) not in TYPES[field.kind]:
        return True
    if field.kind in {"int", "real"} and not (math.isfinite(value) and abs(value) < 2**63):
        return True
    return field.least is not None and value < field.least


@given(spoiled())
@settings(max_examples=500)
def test_every_column_of_every_row_is_what_the_tables_take(config: dict[str, Any]) -> None:
    """One awkward value in a real config gives a refusal or numbers of the right type, finite and within bounds."""
    row = derive(config).fingerprint
    assert [f.name for f in FINGERPRINT if wrong(f, getattr(row, f.name))] == []


@pytest.mark.parametrize(
    "change",
    [
        {"rope_theta": -1},
        {"rope_parameters": {"rope_type": "default", "rope_theta": "fast"}},
        {"rope_scaling": {"rope_type": "yarn", "factor": -2}},
        {"rope_scaling": {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 2**63}},
        {"rope_scaling": {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": "many"}},
    ],
)
def test_positions_that_cannot_be_are_refused(change: dict[str, Any]) -> None:
    """A negative base or factor, a text for a number, a context beyond any: refused by name, never a default."""
    llama = next(json.loads(e.raw) for e in catalogue.load() if e.repo == "meta-llama/Llama-3.1-8B")
    found = derive(llama | change).fingerprint
    assert (found.verdict, found.refusal_kind) == ("refused", "bad_value")
    assert next(iter(change)) in str(found.refusal_reason)


def test_a_sum_over_a_prompt_beyond_what_is_stored_is_refused() -> None:
    """2^31 heads of 128: a step's FLOPs could be stored, those of a prompt, over T (T + 1) / 2 pairs, cannot."""
    heads = {"num_attention_heads": 2**31, "num_key_value_heads": 1, "head_dim": 128, "num_hidden_layers": 4}
    found = derive({"model_type": "exaone4", "hidden_size": 64, **heads}).fingerprint
    assert (found.verdict, found.refusal_kind) == ("refused", "bad_value")


def test_a_tower_beyond_what_is_stored_is_refused() -> None:
    """Patches of 2^31 x 2^31 pixels of 3 colours in 64 numbers: 3 x 2^68 weights beside a text model that is sound."""
    wrapper = next(json.loads(e.raw) for e in catalogue.load() if e.repo == "google/gemma-3-4b-it")
    assert derive(wrapper).fingerprint.params_towers is not None
    one_patch = {"patch_size": 2**31, "image_size": 2**31}
    found = derive(wrapper | {"vision_config": wrapper["vision_config"] | one_patch}).fingerprint
    assert (found.verdict, found.refusal_kind) == ("refused", "bad_value")


def test_entries_of_every_family_say_their_keys() -> None:
    """In the class default of every row, what a cache keeps a token is keys and, perhaps, values: a table's rule."""
    found = {t: derive({"model_type": t}).model for t in available() if not t.startswith("_")}
    silent = {
        f"{t}: {p.kind}"
        for t, model in found.items()
        if model is not None
        for layer in model.counted()
        for p in layer.parts
        for s in p.states
        if s.kind in {"kv", "cross"} and (s.keys is None or s.keys > s.elements)
    }
    assert silent == set()


def test_one_bad_config_does_not_stop_a_refresh(tmp_path: Path) -> None:
    """Beside the catalogue, a config with a negative base and one with a context of 2^63 are rows, and it publishes."""
    llama = next(json.loads(e.raw) for e in catalogue.load() if e.repo == "meta-llama/Llama-3.1-8B")
    scaling = {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 2**63}
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.json").write_text(json.dumps(llama | {"rope_theta": -1}))
    (source / "b.json").write_text(json.dumps(llama | {"rope_scaling": scaling}))
    options = Options(tmp_path, str(source))
    gathered = gather(options)
    refused = {raw for raw, derived in holding.of_catalogue().items() if derived.model is None}
    assert publish(options, gathered, tabulate(gathered)).digests["refusals"][0] == len(refused) + 2


@pytest.mark.soak
def test_texts_that_are_no_json_stop_no_page(tmp_path: Path) -> None:
    """With a byte order mark, another encoding and an HTML page among the raw texts, every page is still built."""
    homes.with_guide(tmp_path)  # its charts are kept where their rows stay the same
    source = tmp_path / "source"
    source.mkdir()
    for name, data in (("bom", b"\xef\xbb\xbf{}"), ("wide", "{}".encode("utf-16")), ("html", b"<!DOCTYPE html>")):
        (source / f"{name}.json").write_bytes(data)
    assert refresh(Options(tmp_path, str(source))).failed_pages == {}
