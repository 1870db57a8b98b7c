"""From found repositories to tables."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path

import pytest

from pipeline.refresh.found import Input
from pipeline.refresh.tables import tables
from pipeline.store import snapshot

DAY = dt.date(2026, 11, 29)
# two layers of width 8, two heads of 4 sharing one K/V head, feed-forward 16, 10 tokens, untied
LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 16, "vocab_size": 10,
    "rope_theta": 10_000.0, "tie_word_embeddings": False, "hidden_act": "silu",
    "max_position_embeddings": 64, "torch_dtype": "bfloat16",
}  # fmt: skip
# per layer: q 8x8, k 8x4, v 8x4, o 8x8, three 8x16, two norms of 8; ends: 2 x 10x8 and a norm of 8
TOTAL = 2 * (64 + 32 + 32 + 64 + 3 * 128 + 16) + 160 + 8


def raw(**changes: object) -> bytes:
    """The small config with changes."""
    return json.dumps(LLAMA | changes).encode()


def found(repo: str, config: bytes, **more: object) -> Input:
    """A repository of a folder."""
    return Input(repo, config, "folder", DAY, **more)  # pyright: ignore[reportArgumentType]


def test_a_config_becomes_rows_of_every_table() -> None:
    """One small model gives a model, a config with its text, and a design with hand-counted totals."""
    made = tables([found("a/b", raw())])
    config, design = made["configs"].row(0, named=True), made["designs"].row(0, named=True)
    assert config["config_id"] == hashlib.sha256(raw()).hexdigest()
    assert config["raw"] == raw().decode()
    assert (design["params_total"], design["n_layers"]) == (TOTAL, 2)
    assert design["kv_bytes_per_token"] == 2 * 2 * 4 * 2  # two layers, K and V of 4 elements, 2 bytes
    assert made["layers"]["repeats"].to_list() == [2]
    entries = {(e["value"], e["origin"], e["source"]) for e in config["evidence"]}
    assert ("8", "explicit", "hidden_size") in entries


def test_texts_and_designs_are_stored_once(tmp_path: Path) -> None:
    """Equal texts share a config, configs that differ in theta alone share a design; the snapshot of them is valid."""
    made = tables([found("a/1", raw()), found("a/2", raw()), found("a/3", raw(rope_theta=500_000.0))])
    assert (made["models"].height, made["configs"].height, made["designs"].height) == (3, 2, 1)
    snapshot.publish(tmp_path, made, snapshot.Publication(day=DAY, source="folder", listed=3, code_version="0"))


BAD: list[tuple[bytes, str, str]] = [
    (b"", "not_json", "malformed"),
    (b"<html>login</html>", "not_json", "malformed"),
    (b"\xff\xfe{\0}\0", "not_json", "malformed"),
    (b"[1, 2]", "not_an_object", "malformed"),
    (b'{"model_type": "no_such_family"}', "unknown_family", "ok"),
    (b'{"model_type": "llama"}', "", "ok"),  # the class's own defaults make a whole model
    (b'{"hidden_size": 8}', "missing_key", "ok"),
    (b'{"model_type": "\\ud800"}', "not_json", "malformed"),
    (b'{"model_type": "llama\\u0000"}', "unknown_family", "ok"),
    (b'{"a": "' + b"x" * 6_000_000 + b'"}', "too_large", "too_large"),
    (b"[" * 100_000, "too_deep", "malformed"),
    (raw(num_attention_heads=0), "bad_value", "ok"),
    (raw(hidden_size="8"), "bad_value", "ok"),
    (raw(hidden_size=10**400), "bad_value", "ok"),
    (raw(note="\ud800"), "not_json", "malformed"),
    (raw(note="| \x1b[31m", **{"](javascript:": 1}), "", "ok"),
]


def test_every_input_is_a_row_or_a_refusal(tmp_path: Path) -> None:
    """Bad files are refusals with a kind, outcomes follow from them, and the snapshot of it all is valid."""
    made = tables(found(f"bad/{i}", config) for i, (config, _, _) in enumerate(BAD))
    published = snapshot.publish(
        tmp_path, made, snapshot.Publication(day=DAY, source="folder", listed=len(BAD), code_version="0")
    )
    assert published.entry.models == len(BAD)
    outcomes = dict(made["models"].select("repo_id", "outcome").iter_rows())
    kinds = dict(made["refusals"].select("config_id", "kind").iter_rows())
    for i, (config, kind, outcome) in enumerate(BAD):
        assert outcomes[f"bad/{i}"] == outcome, config[:40]
        found_kind = kinds.get(hashlib.sha256(config).hexdigest(), "")
        assert found_kind == kind, config[:40]


def test_a_text_that_is_not_utf8_is_kept_as_bytes() -> None:
    """What was published is kept: text as text, other bytes as bytes, too large a file as its digest alone."""
    made = tables([found("a/1", b"\xff\xfe"), found("a/2", b"x" * 6_000_000)])["configs"].sort("size_bytes")
    assert made["raw_bytes"].to_list() == [b"\xff\xfe", None]
    assert made["raw"].to_list() == [None, None]
    assert made["size_bytes"].to_list() == [2, 6_000_000]


def test_a_name_that_utf8_cannot_hold_is_escaped(tmp_path: Path) -> None:
    """A file name of other bytes than UTF-8 becomes a visible escape in the snapshot."""
    made = tables([found("a/\udcff", raw()), found("a/b", raw())])
    snapshot.publish(tmp_path, made, snapshot.Publication(day=DAY, source="folder", listed=2, code_version="0"))
    assert sorted(made["models"]["repo_id"]) == ["a/\\udcff", "a/b"]


def test_a_crawled_config_replaces_the_catalogues(tmp_path: Path) -> None:
    """Found again with a config, the later one counts, and nothing of the first is left over."""
    made = tables([found("a/b", raw(vocab_size=11)), Input("a/b", raw(), "hub", DAY, revision="f" * 40)])
    assert made["models"].row(0, named=True)["source"] == "hub"
    assert (made["configs"].height, made["designs"].height) == (1, 1)
    assert made["designs"]["vocab_size"].to_list() == [10]
    snapshot.publish(tmp_path, made, snapshot.Publication(day=DAY, source="hub", listed=1, code_version="0"))


def test_a_gated_repository_keeps_the_config_it_had() -> None:
    """Found again without a config, outcome and listing are new; config, day and source are the old ones."""
    later = Input("a/b", None, "hub", None, outcome="gated", listing={"downloads": 7, "gated": "manual"})
    model = tables([found("a/b", raw(), revision="e" * 40), later])["models"].row(0, named=True)
    assert (model["outcome"], model["downloads"], model["gated"]) == ("gated", 7, "manual")
    assert (model["source"], model["as_of"], model["revision"]) == ("folder", DAY, "e" * 40)
    assert model["config_id"] is not None


def test_listing_facts_become_columns() -> None:
    """Times are UTC without a zone, flags words where the column is a word, maps and lists stay whole."""
    listing = {
        "created_at": "2024-07-18T08:56:00.000Z", "last_modified": "nonsense", "gated": False, "tags": ["a", "b"],
        "hub_params_by_dtype": {"BF16": 5, "I32": 1}, "base_models": [], "unknown": 1,
    }  # fmt: skip
    model = tables([found("a/b", raw(), listing=listing), found("a/c", raw())])["models"].row(0, named=True)
    assert model["created_at"] == dt.datetime(2024, 7, 18, 8, 56)  # noqa: DTZ001 - stored without zone
    assert model["last_modified"] is None
    assert model["gated"] == "false"
    assert model["tags"] == ["a", "b"]
    assert model["base_models"] == []
    assert model["hub_params_by_dtype"] == [{"key": "BF16", "value": 5}, {"key": "I32", "value": 1}]


def test_extra_rows_reach_their_tables(tmp_path: Path) -> None:
    """Reported facts and checks are handed in as rows; a check decides the word in the fingerprint."""
    extra = {
        "reported": [
            {"repo_id": "a/b", "fact": "params_total", "value": str(TOTAL), "unit": "parameters", "citation": "card"}
        ],
        "checks": [{"repo_id": "a/b", "kind": "headers", "expected": TOTAL, "derived": TOTAL, "result": "exact"}],
    }
    made = tables([found("a/b", raw())], extra=extra)
    assert made["reported"].height == 1
    snapshot.publish(tmp_path, made, snapshot.Publication(day=DAY, source="folder", listed=1, code_version="0"))


@pytest.mark.parametrize("name", ["configs", "designs"])
def test_columns_agree_with_inspect(name: str, shared: Path) -> None:
    """For every real config, what the tables hold equals what a single inspection says."""
    from atlas import derive

    files = sorted((shared / "hub" / "configs").glob("*.json"))
    made = tables(found(f.stem.replace("--", "/", 1), f.read_bytes()) for f in files)
    rows = {row["config_id" if name == "configs" else "design_id"]: row for row in made[name].iter_rows(named=True)}
    for file in files:
        fingerprint = derive(file.read_bytes()).fingerprint
        key = hashlib.sha256(file.read_bytes()).hexdigest() if name == "configs" else fingerprint.design_id
        if key is None:
            continue
        for column, value in rows[key].items():
            expected = getattr(fingerprint, column, value)
            if isinstance(expected, dict):
                expected = [{"key": k, "value": v} for k, v in expected.items()]
            assert value == expected, (file.name, column)
