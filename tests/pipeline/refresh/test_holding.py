"""The catalogue's published totals and cited facts, held against what is derived."""

from __future__ import annotations

import orjson

from atlas.checkpoint.totals import as_stated
from atlas.interpret import derive
from atlas.proof import decided
from pipeline.refresh import holding
from pipeline.refresh.found import Input
from pipeline.refresh.tables import tables
from pipeline.sources import catalogue
from pipeline.sources.catalogue import Fact
from schemas.vocabulary import Check, Verdict

REFUSED = {
    "NaiveAI-Labs/Naive-N0.5-Flash": "unknown_family",
    "RWKV/rwkv-5-world-3b": "unknown_family",
    "stepfun-ai/Step-3.7-Flash": "unknown_class",
}
"""What the catalogue holds although nothing describes it, so that pages show what a refusal looks like."""


def test_every_published_total_is_ours_or_explained_to_the_last_weight() -> None:
    """Each total of the catalogue is ours, or ours plus counted parts; the unchecked are packed."""
    found = holding.rows(catalogue.load())["checks"]
    assert {r["repo_id"]: r["note"] for r in found if r["result"] == Check.OFF} == {}
    packed = {e.repo for e in catalogue.load() if e.expect and catalogue.Content.PACKED in e.expect.holds}
    assert {r["repo_id"] for r in found if r["result"] == Check.UNCHECKED} == packed
    assert all(r["note"] for r in found if r["result"] == Check.UNCHECKED)
    assert sum(r["result"] == Check.EXACT for r in found) >= 157


def test_every_entry_is_derived_by_a_family() -> None:
    """No config of the catalogue stays assumed beside its total; what no family describes is refused, by kind."""
    totals = {e.repo: (e.expect.params_total,) if e.expect else () for e in catalogue.load()}
    found = {e.repo: decided(derive(e.raw), *totals[e.repo]).fingerprint for e in catalogue.load()}
    assert {repo: f.refusal_kind for repo, f in found.items() if f.verdict != Verdict.KNOWN} == REFUSED


def test_no_reported_size_is_off_by_more_than_two_percent_without_a_reason() -> None:
    """A cited size is ours as far as its digits go, within 2 %, the checkpoint's, or another count of the same."""
    entries = catalogue.load()
    reasons = {(r["repo_id"], r["tool"]): r["explanation"] for r in holding.rows(entries)["disagreements"]}
    for entry in entries:
        ours = derive(entry.raw).fingerprint.params_total
        if ours is None:
            assert entry.repo in REFUSED
            continue
        sizes = [ours] if entry.expect is None else [ours, entry.expect.params_total]
        for fact in entry.reported:
            if fact.fact is Fact.PARAMS_TOTAL and isinstance(fact.value, int):
                near = any(abs(n - fact.value) <= 0.02 * fact.value for n in sizes)
                said = as_stated("params_total", fact.value).agrees(ours)
                assert near or said or reasons[entry.repo, fact.citation], (entry.repo, fact.value, ours)


def test_counted_parts_beside_the_model_explain_a_checkpoint() -> None:
    """MiMo-V2-Flash: three drafting layers of 329,273,408 and 18,717,312 scales make up its published total."""
    (entry,) = (e for e in catalogue.load() if e.repo == "XiaomiMiMo/MiMo-V2-Flash")
    row = holding.check(entry, derive(entry.raw))
    assert row is not None
    assert row["result"] == Check.EXACT
    assert row["expected"] - row["derived"] == 3 * 329_273_408 + 18_717_312
    assert "mtp included" in row["note"]


def test_gpt_oss_is_quoted_by_its_matmul_weights() -> None:
    """The card's 5.1B active parameters of gpt-oss-120b are its matmul weights: a row with that explanation."""
    found = [r for r in holding.rows(catalogue.load())["disagreements"] if r["repo_id"] == "openai/gpt-oss-120b"]
    assert any((r["explanation"] or "").startswith("counts matmul weights only") for r in found)


def test_every_row_is_unique_by_its_key() -> None:
    """One row per repository, field and source."""
    found = holding.rows(catalogue.load())
    keys = [(r["repo_id"], r["field"], r["tool"]) for r in found["disagreements"]]
    assert len(keys) == len(set(keys))
    assert len(found["checks"]) == len({r["repo_id"] for r in found["checks"]})


SMALL = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128,
    "num_hidden_layers": 2, "vocab_size": 100, "tie_word_embeddings": True, "rms_norm_eps": 1e-6, "hidden_act": "silu",
    "max_position_embeddings": 512,
}  # fmt: skip
OURS = 100 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64
"""Embedding, two layers of attention, network and norms, and the final norm."""


def test_the_hubs_own_totals_are_held_against_ours() -> None:
    """Equal totals are exact, also for an assumed architecture; a head stored again is explained; others are off."""
    of = {"llama": "LlamaForCausalLM", "newfangled": "ThingForCausalLM"}
    totals = {"a/equal": ("llama", OURS), "a/assumed": ("newfangled", OURS), "a/twice": ("llama", OURS + 100 * 64)}
    totals |= {"a/other": ("llama", OURS + 1)}
    found = [
        Input(name, orjson.dumps({**SMALL, "model_type": kind, "architectures": [of[kind]]}), "hub", None,
              listing={"hub_params_total": total, "hub_params_by_dtype": {"BF16": total}})
        for name, (kind, total) in totals.items()
    ]  # fmt: skip
    rows = tables(found)["checks"].select("repo_id", "derived", "result").sort("repo_id").rows()
    assert [(repo, str(result)) for repo, _, result in rows] == [
        ("a/assumed", "exact"),
        ("a/equal", "exact"),
        ("a/other", "off"),
        ("a/twice", "exact"),
    ]
    assert {derived for _, derived, _ in rows} == {OURS}
