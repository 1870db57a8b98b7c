"""The embedded catalogue: what every row must hold, and that a wrong row is refused."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import Corrupt
from pipeline.sources.catalogue import UNITS, Content, Fact, absent, dated, load, read_rows, resolved

if TYPE_CHECKING:
    from pathlib import Path

EXEMPLARS = [
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-235B-A22B",
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "HuggingFaceTB/SmolLM2-135M",
    "ai21labs/AI21-Jamba-Mini-1.5",
    "allenai/OLMo-2-1124-7B",
    "deepseek-ai/DeepSeek-V3",
    "deepseek-ai/DeepSeek-V3.2",
    "deepseek-ai/DeepSeek-V4-Flash",
    "google/gemma-3-27b-it",
    "google/gemma-4-26B-A4B",
    "HuggingFaceTB/SmolLM3-3B",
    "meta-llama/Llama-3.1-405B",
    "meta-llama/Llama-3.1-8B",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "mistralai/Mixtral-8x7B-v0.1",
    "moonshotai/Kimi-K2-Instruct",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "nvidia/Qwen3-32B-NVFP4",
    "openai-community/gpt2-xl",
    "openai/gpt-oss-120b",
    "state-spaces/mamba-2.8b-hf",
    "tiiuae/Falcon-H1-0.5B-Base",
    "tiiuae/falcon-7b",
    "Qwen/Qwen3-32B-FP8",
    "Qwen/Qwen3-VL-8B-Instruct",
    "Qwen/Qwen3.5-397B-A17B",
]
"""The models that guide.md's curriculum names."""

SEED_TABLE = {
    "meta-llama/Llama-3.1-405B": (405e9, 405e9, 15.6e12),
    "deepseek-ai/DeepSeek-V3": (671e9, 37e9, 14.8e12),
    "Qwen/Qwen3-235B-A22B": (235e9, 22e9, 36e12),
    "openai/gpt-oss-120b": (117e9, 5.1e9, None),
    "moonshotai/Kimi-K2-Instruct": (1.04e12, 32e9, 15.5e12),
    "google/gemma-3-27b-it": (27e9, 27e9, 14e12),
}
"""Total, active and pre-training tokens as the comparison table of the case-study chapter reports them."""

GOOD: dict[str, Any] = {
    "repo": "org/model",
    "source": "a public place",
    "retrieved": "2026-11-29",
    "config": {"model_type": "llama", "hidden_size": 64},
    "reported": [{"fact": "params_total", "value": 8, "unit": "parameters", "citation": "a paper, table 1"}],
}

BESIDE: dict[str, Any] = {
    "params_total": 9,
    "source": "a table",
    "holds": ["language_model"],
    "beside": [{"what": "towers", "elements": 1, "source": "a count"}],
}


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    """A catalogue file of the organisation `org` with these rows."""
    file = folder / "org.json"
    file.write_text(json.dumps(rows), "utf-8")
    return file


def test_repositories_are_unique_and_sorted() -> None:
    """Every repository stands in the catalogue once, and entries come in the order of their names."""
    repos = [entry.repo for entry in load()]
    assert repos == sorted(set(repos))


def test_every_entry_names_its_family_and_where_it_was_read() -> None:
    """Each entry has a model_type, a source and a day of retrieval no later than the catalogue's own."""
    for entry in load():
        assert entry.config["model_type"], entry.repo
        assert entry.source, entry.repo
        assert entry.retrieved <= dated(), entry.repo


def test_no_fact_without_a_citation_in_its_own_unit() -> None:
    """Each reported fact is cited, in its own unit, and is a size above zero or a day in the past."""
    for entry in load():
        stated = [(fact.fact, fact.citation) for fact in entry.reported]
        assert len(stated) == len(set(stated)), entry.repo
        for fact in entry.reported:
            assert fact.citation, entry.repo
            assert fact.unit == UNITS[fact.fact], entry.repo
            if fact.unit == "date":
                assert date.fromisoformat(str(fact.value)) <= dated(), entry.repo
            elif fact.unit == "text":
                assert isinstance(fact.value, str), entry.repo
            else:
                assert isinstance(fact.value, int), entry.repo
                assert fact.value > 0, entry.repo


def test_facts_are_of_primary_sources() -> None:
    """Papers, cards, announcements and repositories of those who made a model; no page about it, no course."""
    third = re.compile(r"Course chapter|apxml|aiwiki|besthub|deepinfra|nxcode|netlify|workers\.dev|opened at http")
    assert [(e.repo, r.citation) for e in load() for r in e.reported if third.search(r.citation)] == []


def test_the_catalogue_is_dated() -> None:
    """The catalogue carries its own date, so that a snapshot made from it does not depend on the clock."""
    assert dated() == date(2026, 12, 1)


def test_config_text_is_canonical_and_stable() -> None:
    """The text of a config is strict JSON with sorted keys and no spaces, and says the same as the row."""
    for entry in load():
        plain = json.dumps(entry.config, sort_keys=True, allow_nan=False)
        assert json.dumps(json.loads(entry.raw)) == plain, entry.repo
        assert entry.raw == entry.raw.strip(), entry.repo


def test_an_expected_total_says_where_it_was_published_and_what_it_counts() -> None:
    """A total has a source; one that counts packed bytes is no count of weights and holds nothing else."""
    for entry in load():
        if entry.expect is None:
            continue
        assert entry.expect.source, entry.repo
        assert entry.expect.params_total > 0, entry.repo
        holds = set(entry.expect.holds)
        assert not holds or Content.LANGUAGE_MODEL in holds or holds == {Content.PACKED}, entry.repo


def test_the_catalogue_is_broad() -> None:
    """At least 400 models stand in it, of at least 120 model types, most with an expected total."""
    entries = load()
    assert len(entries) >= 400
    assert len({entry.config["model_type"] for entry in entries}) >= 120
    assert sum(entry.expect is not None for entry in entries) >= 400


@pytest.mark.parametrize("repo", EXEMPLARS)
def test_every_exemplar_of_the_curriculum_is_there(repo: str) -> None:
    """The guide pins its exemplars by name, so the catalogue has to hold each of them."""
    assert repo in {entry.repo for entry in load()}


@pytest.mark.parametrize("repo", SEED_TABLE)
def test_reported_figures_of_the_case_studies(repo: str) -> None:
    """The six case studies carry the totals, active parameters and tokens of their reports, cited where each stands."""
    entry = next(entry for entry in load() if entry.repo == repo)
    cited = {fact.fact: fact.value for fact in reversed(entry.reported)}
    stated = tuple(cited.get(fact) for fact in (Fact.PARAMS_TOTAL, Fact.PARAMS_ACTIVE, Fact.TRAINING_TOKENS))
    assert stated == SEED_TABLE[repo]


def test_a_good_row_is_read(tmp_path: Path) -> None:
    """A row with everything it needs is read as it stands."""
    (entry,) = read_rows(write(tmp_path, GOOD))
    assert entry.repo == "org/model"
    assert entry.raw == b'{"hidden_size":64,"model_type":"llama"}'


LIKE: dict[str, Any] = {"repo": "org/tuned", "like": "org/model", "source": "a listing", "retrieved": "2026-11-29"}


def test_a_row_may_share_the_config_of_another(tmp_path: Path) -> None:
    """A row that is like another has its config, with its own keys over it and some left out."""
    tuned = LIKE | {"but": {"max_position_embeddings": 8}, "without": ["hidden_size"]}
    first, second = resolved(read_rows(write(tmp_path, GOOD, tuned)))
    assert first.config == GOOD["config"]
    assert second.config == {"model_type": "llama", "max_position_embeddings": 8}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"like": "org/none"}, "no config of its own"),
        ({"like": "org/tuned"}, "no config of its own"),
        ({"without": ["vocab_size"]}, "vocab_size"),
    ],
)
def test_a_row_shares_only_what_is_there(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    """A row is like one that has a config of its own, and leaves out only keys that it has."""
    with pytest.raises(Corrupt, match=reason):
        resolved(read_rows(write(tmp_path, GOOD, LIKE | change)))


def test_what_is_absent_has_a_reason() -> None:
    """Every model that the catalogue names as absent has a reason."""
    assert all(reason.strip() for reason in absent().values())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"like": "org/other"}, "has a config and shares one"),
        ({"but": {"hidden_size": 8}}, "does not share"),
        ({"config": {"hidden_size": 64}}, "no model_type"),
        ({"source": " "}, "where the config was read"),
        ({"repo": "other/model"}, "organisation's file"),
        ({"retrieved": "2026-12-02"}, "after the catalogue's own date"),
        ({"reported": [{**GOOD["reported"][0], "citation": ""}]}, "no citation"),
        ({"reported": [{**GOOD["reported"][0], "unit": "tokens"}]}, "another unit"),
        ({"reported": [{**GOOD["reported"][0], "fact": "price"}]}, "price"),
        ({"reported": [{**GOOD["reported"][0], "value": 1.5}]}, "value"),
        ({"added": 1}, "added"),
        ({"expect": BESIDE}, "counts beside what it does not hold"),
    ],
)
def test_a_wrong_row_is_refused_with_its_reason(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    """A row that lacks a needed value, or has one nobody defined, is refused with the reason named."""
    with pytest.raises(Corrupt, match=reason):
        read_rows(write(tmp_path, GOOD | change))
