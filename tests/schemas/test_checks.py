"""Integrity of a whole snapshot: every rule has a mutant that breaks it, and the hand-made atlas breaks none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import hand_made
import pytest

from pipeline.errors import Invalid
from pipeline.store import snapshot
from schemas import checks
from schemas.checks import Rule, rules
from schemas.registry import TABLES

REFUSED_OR_DESIGN = "a config is refused with a reason or has a design, never both and never neither"
EVIDENCE = "a derived config has evidence, whole and of known origin"
NUMBERED = "the layers of a design are numbered from 0 to n_layers - 1, none left out"
ENTRY = "{'field': 'a', 'value': %s, 'origin': '%s', 'source': 'x'}"

EXPLICIT = {
    "the raw text has the digest and length the row says": "UPDATE configs SET raw = raw || ' ' WHERE raw IS NOT NULL",
    "a config is refused with a reason or has a design, never both and never neither": "DELETE FROM refusals",
    "a derived config has evidence, whole and of known origin": "UPDATE configs SET evidence = []",
    "every subject is a config or a repository": "UPDATE stored SET subject = 'nobody/nothing'",
    "bytes sum to weight_bytes_checkpoint, where there is one": "UPDATE stored SET bytes = bytes + 1",
    "a derived config has its stored bytes or the reason why not, never both": (
        "UPDATE configs SET stored_reason = NULL"
    ),
    "a repository that ended well has a config": "UPDATE models SET config_id = NULL",
    "unchanged is what happened on a day, and stands in runs": (
        "UPDATE models SET outcome = 'unchanged' WHERE outcome = 'ok'"
    ),
    "a config was seen on a day": "UPDATE models SET as_of = NULL",
    "the components sum to params_total exactly": "UPDATE designs SET params_norm = params_norm + 1",
    "the shares sum to 1": "UPDATE designs SET share_norm = share_norm + 0.01",
    "each share is its component / params_total": (
        "UPDATE designs SET share_norm = share_attention, share_attention = share_norm"
    ),
    "flops_per_token is 2 x params_active_compute": "UPDATE designs SET flops_per_token = flops_per_token + 1",
    "params_active_max equals the sum over parameters": "UPDATE designs SET params_active_max = 1000",
    "params_active is at most params_active_max": "UPDATE designs SET params_active_max = params_active",
    "source_flops_per_token equals the sum over parameters": "UPDATE designs SET source_flops_per_token = 2",
    "growth_bytes_per_token sums the caches that the stated context does not fill": (
        "UPDATE configs SET max_context = 1024 WHERE max_context = 4096"
    ),
    "keys and values make an entry": "UPDATE states SET k_elements = 3 WHERE slot = 1",
    "weight_bytes_bf16 is 2 x params_total": "UPDATE designs SET weight_bytes_bf16 = NULL",
    "elements is the product of the shape": "UPDATE parameters SET shape = [3, 3] WHERE name = 'qkv'",
    "cross_kv_bytes_per_source_token equals the sum over states, null where there is none": (
        "UPDATE designs SET cross_kv_bytes_per_source_token = 0"
    ),
    **{
        f"{column}{t} is at least {whole} / {t} and at most {whole}": (
            f"UPDATE designs SET {column}{t} = {whole} + 1 WHERE design_id = 'aaaa'"
        )
        for column, whole in (("params_rank_tp", "params_total"), ("kv_bytes_per_token_rank_tp", "kv_bytes_per_token"))
        for t in (2, 4, 8, 16)
    },
    **{
        f"{column}{t} is null where the degree is uneven or {word}, and only there": (
            f"UPDATE designs SET {column}{t} = 8 WHERE design_id = 'aaaa'"
        )
        for column, word in (("params_rank_tp", "unknown"), ("kv_bytes_per_token_rank_tp", "nothing is kept"))
        for t in (2, 4, 8, 16)
    },
    **{
        f"experts_touched_b{b} is n (1 - (1 - k/n)^{b}) where no choice is empty": (
            f"UPDATE designs SET n_routed_experts = 8, experts_per_token = 2, experts_touched_b{b} = 2"
        )
        for b in (8, 64, 256)
    },
    "a step over more sequences reads no fewer weights, and no less than one token multiplies by": (
        "UPDATE designs SET decode_weight_bytes_b8 = 528, decode_weight_bytes_b64 = 528, decode_weight_bytes_b256 = 500"
    ),
    "without routed experts every step reads the same weights": (
        "UPDATE designs SET is_moe = false, decode_weight_bytes_b256 = 529"
    ),
    "a longer context never holds less": "UPDATE designs SET kv_bytes_32k = 1 WHERE design_id = 'aaaa'",
    "a state of a fixed size is constant, and only that": "UPDATE states SET kind = 'kv' WHERE stride = 0",
    "the layers of a design are numbered from 0 to n_layers - 1, none left out": "UPDATE layers SET first_index = 0",
    "whatever a config of a repository has is counted, and nothing else": "UPDATE models SET downloads = 99",
    "nothing was first seen after the snapshot's day": "UPDATE sightings SET first_seen = DATE '2026-11-30'",
    "every listed repository is a row of models": "UPDATE snapshot SET rows = rows + 1 WHERE name = 'snapshot'",
}


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The hand-made snapshot in memory, to be changed inside transactions."""
    home = tmp_path_factory.mktemp("home")
    made = snapshot.publish(
        home,
        hand_made.content(),
        snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"),
    )
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{made.path}' AS made (READ_ONLY)")
        con.execute("COPY FROM DATABASE made TO memory")
        con.execute("DETACH made")
        yield con


def mutant(rule: Rule) -> str:
    """SQL that breaks this rule."""
    words = rule.says.split()
    if rule.says in EXPLICIT:
        return EXPLICIT[rule.says]
    if rule.says.startswith("rows are unique"):
        return f"INSERT INTO {rule.table} SELECT * FROM {rule.table} LIMIT 1"
    if rule.says.startswith("there is at least"):
        return f"DELETE FROM {rule.table}"
    if " equals the sum over " in rule.says:
        return f"UPDATE designs SET {words[0]} = {words[0]} + 1"
    if rule.says.startswith("the manifest knows"):
        return f"UPDATE snapshot SET rows = rows + 1 WHERE name = '{words[-1]}'"
    assert rule.says.startswith("every "), rule
    return f"DELETE FROM {words[-1]}"


def broken(con: duckdb.DuckDBPyConnection, rule: Rule, change: str | None) -> checks.Failure | None:
    """What a rule says of the snapshot after a change, which is then undone."""
    con.execute("BEGIN")
    try:
        if change:
            con.execute(change)
        if rule.rows and checks._hold(con, rule.rows, [rule]):  # so it is asked first, with others of the same rows
            return None
        return checks._broken(con, rule)
    finally:
        con.execute("ROLLBACK")


def label(rule: Rule) -> str:
    """Name of a test case."""
    return f"{rule.table}: {rule.says}"


def test_the_hand_made_atlas_breaks_no_rule(con: duckdb.DuckDBPyConnection) -> None:
    """What the mutants are made from is whole; its numbers were counted by hand."""
    assert checks.failures(con) == []


@pytest.mark.parametrize("rule", rules(), ids=label)
def test_a_mutant_breaks_the_rule(con: duckdb.DuckDBPyConnection, rule: Rule) -> None:
    """For every rule there is a change that it notices, and the failure names examples."""
    failure = broken(con, rule, mutant(rule))
    assert failure is not None
    assert failure.rows >= 1
    assert all(failure.examples)


@pytest.mark.parametrize(
    ("says", "change"),
    [
        ("rows are unique and ordered by repo_id", "UPDATE models SET repo_id = 'zzz' WHERE repo_id = 'org/A-8B'"),
        ("params_mtp equals the sum over parameters", "UPDATE parameters SET component = 'mtp' WHERE name = 'qkv'"),
        ("params_active equals the sum over parameters", "UPDATE parameters SET touched = 0 WHERE name = 'qkv'"),
        ("params_active_compute equals the sum over parameters", "UPDATE parameters SET role = 'lookup'"),
        ("params_norm equals the sum over parameters", "UPDATE designs SET params_norm = NULL"),
        ("kv_bytes_4k equals the sum over states", 'UPDATE states SET "window" = NULL'),
        ("kv_bytes_4k equals the sum over states", "UPDATE designs SET kv_bytes_4k = NULL"),
        ("kv_bytes_4k equals the sum over states", "DELETE FROM states WHERE design_id = 'bbbb'"),
        ("growth_bytes_per_token sums the caches that the stated context does not fill",
         "UPDATE configs SET growth_bytes_per_token = NULL"),
        ("keys and values make an entry", "UPDATE states SET k_elements = NULL, v_elements = NULL"),
        ("source_flops_per_token equals the sum over parameters", "UPDATE parameters SET role = 'source'"),
        ("params_active_max equals the sum over parameters", "UPDATE parameters SET choices = 4 WHERE name = 'qkv'"),
        ("state_bytes_constant equals the sum over states", "UPDATE states SET width_bytes = 2"),
        (REFUSED_OR_DESIGN, "UPDATE configs SET design_id = NULL"),
        (EVIDENCE, f"UPDATE configs SET evidence = [{ENTRY % ('1', 'guess')}]"),
        (EVIDENCE, f"UPDATE configs SET evidence = [{ENTRY % ('NULL', 'explicit')}]"),
        ("the raw text has the digest and length the row says", "UPDATE configs SET raw_bytes = encode('x')"),
        ("the raw text has the digest and length the row says", "UPDATE configs SET size_bytes = size_bytes + 1"),
        ("the layers of a design are numbered from 0 to n_layers - 1, none left out", "UPDATE layers SET repeats = 2"),
        (NUMBERED, "DELETE FROM layers WHERE slot = 0"),
        ("the manifest knows every row of models", "DELETE FROM snapshot WHERE name = 'models'"),
        ("every listed repository is a row of models", "DELETE FROM snapshot WHERE name = 'snapshot'"),
    ],
)  # fmt: skip
def test_further_mutants(con: duckdb.DuckDBPyConnection, says: str, change: str) -> None:
    """Rules that can be broken in several ways notice each of them."""
    assert any(broken(con, rule, change) for rule in rules() if rule.says == says)


def test_a_failure_shows_five_examples(con: duckdb.DuckDBPyConnection) -> None:
    """A message says table, rule and number of rows, and shows no more than five of them."""
    rule = next(r for r in rules() if r.table == "parameters" and r.says.startswith("elements"))
    failure = broken(con, rule, "UPDATE parameters SET shape = [1, 1]")
    assert failure is not None
    assert str(failure).startswith(
        "table parameters: 13 row(s) break the rule that elements is the product of the shape: aaaa "
    )
    assert len(failure.examples) == 5


def test_every_table_has_a_key_rule() -> None:
    """No table is left without a rule about its key, the manifest aside, whose rows have a rule each."""
    named = {r.table for r in rules() if r.says.startswith("rows are unique")}
    assert named == set(TABLES) - {"snapshot"}


def test_a_refused_snapshot_is_not_published(tmp_path: Path) -> None:
    """A broken rule ends with a message about it and leaves nothing behind."""
    content = hand_made.content()
    content["parameters"] = content["parameters"].head(3)
    with pytest.raises(Invalid, match="params_ffn_dense equals the sum over parameters"):
        snapshot.publish(
            tmp_path,
            content,
            snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"),
        )
    assert [p.name for p in (tmp_path / "snapshots").iterdir() if p.name != ".lock"] == []
