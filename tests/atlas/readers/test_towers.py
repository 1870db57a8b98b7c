"""Towers from configs: counted by hand, by published totals, by the library; null where not understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atlas.families.towers import available, tower_row
from atlas.interpret import Derived, derive
from atlas.numbers.structure import design_id

TEXT = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 100,
    "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5,
}  # fmt: skip
CLIP = {
    "model_type": "clip_vision_model", "hidden_size": 8, "intermediate_size": 32, "num_hidden_layers": 3,
    "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
}  # fmt: skip
VARIANTS = Path(__file__).parents[2] / "fixtures" / "tower_variants.jsonl"


def llava(vision: Any = CLIP, **keys: Any) -> Derived:
    """LLaVA over a small Llama."""
    stated = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "text_config": TEXT}
    return derive(stated | {"vision_config": vision} | keys)


def reason(found: Derived) -> str:
    """Why the towers are not known."""
    assert found.fingerprint.params_towers is None
    assert found.fingerprint.params_total is not None
    return next(e.source for e in found.evidence if e.field == "params_towers")


def test_clip_and_its_projector_are_counted_by_hand() -> None:
    """Three layers of width 8: each 4 x (64 + 8) + 2 x 256 + 32 + 8 + 2 x 16 = 872; ends 8 + 1,176 x 4 + 5 x 8 + 32.

    The patches' kernel is 8 x 3 x 14 x 14 = 4,704; the projector 64 x 8 + 64 + 64 x 64 + 64 = 4,736.
    """
    found = llava().fingerprint
    assert found.has_towers
    assert found.params_towers == 3 * (4 * 72 + 2 * 256 + 40 + 32) + (8 + 4_704 + 5 * 8 + 32) + 4_736


def test_towers_are_no_part_of_the_design() -> None:
    """Another tower leaves the language model's identity, weights and cache as they are."""
    one, other = llava(), llava(CLIP | {"num_hidden_layers": 9})
    assert one.model is not None
    assert other.model is not None
    assert design_id(one.model) == design_id(other.model)
    assert one.fingerprint.params_total == other.fingerprint.params_total == derive(TEXT).fingerprint.params_total
    assert one.fingerprint.params_towers != other.fingerprint.params_towers


def test_every_layer_of_a_tower_is_in_the_structure() -> None:
    """The layers stand in runs of stack "tower"; their sizes sum to params_towers."""
    found = llava()
    runs = [r for t in found.towers for r in t.runs]
    assert {r.stack for r in runs} == {"tower"}
    assert [r.repeats for r in runs] == [1, 3, 1]
    assert sum(t.elements for t in found.towers) == found.fingerprint.params_towers


@pytest.mark.parametrize(
    ("vision", "words"),
    [
        (CLIP | {"window_layers": 2}, "no rule reads vision_config.window_layers"),
        (CLIP | {"model_type": "dinov9"}, "no rules for it"),
        (CLIP | {"hidden_size": "8"}, "whole number"),
        (CLIP | {"hidden_size": -8}, "0 or more"),
        (CLIP | {"num_hidden_layers": 10**9}, "no tower has as many layers"),
        (None, "vision_config is not in the file"),
    ],
)
def test_a_tower_that_is_not_understood_is_null_with_its_reason(vision: Any, words: str) -> None:
    """The language model stays exact; the tower's count is null, and a sentence says why."""
    assert words in reason(llava(vision))


def test_a_wrapper_without_rows_for_its_towers_says_so() -> None:
    """A wrapper whose towers nobody described has none, with that reason; a model without towers has 0."""
    found = derive({"model_type": "fast_vlm", "text_config": TEXT | {"model_type": "qwen2"}, "vision_config": {}})
    assert "no rules for the towers" in reason(found)
    assert derive(TEXT).fingerprint.params_towers == 0


@pytest.mark.parametrize("name", sorted(available()))
def test_every_row_reads_and_cites(name: str) -> None:
    """A row parses, cites what it was read from, and names only rows that exist."""
    row = tower_row(name)
    assert row.references
    assert all(held.row in available() for held in row.towers if held.config)
    assert all(choice in available() for held in row.towers for choice in held.choices)


def test_published_totals_are_met(shared: Path) -> None:
    """What a row expects of a repository at hand is what its config gives."""
    wanted = [(e["repo"], e["params_towers"]) for n in available() for e in tower_row(n).expect]
    for repo, towers in wanted:
        raw = (shared / "hub" / "configs" / f"{repo.replace('/', '--')}.json").read_bytes()
        assert derive(raw).fingerprint.params_towers == towers, repo
    assert len(wanted) >= 4


def changed(data: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The config with another value under a dotted key."""
    first, _, rest = key.partition(".")
    return data | {first: changed(data[first], rest, value) if rest else value}


def test_variants_built_by_the_library_are_met(shared: Path) -> None:
    """Class defaults with one key changed have as many tower weights as transformers 5.24 builds for them.

    The counts are of its own modules on the meta device: named_parameters() outside the language model.
    """
    wrong = {}
    for line in VARIANTS.read_text("utf-8").splitlines():
        case = json.loads(line)
        path = shared / "hub" / ("configs" if "--" in case["default"] else "defaults") / f"{case['default']}.json"
        found = derive(changed(json.loads(path.read_text("utf-8")), case["key"], case["value"])).fingerprint
        if found.params_towers != case["params_towers"]:
            wrong[case["default"], case["key"]] = (found.params_towers, case["params_towers"])
    assert wrong == {}
