"""The comparison with other tools: whole, explained, and of figures that are still ours."""

from __future__ import annotations

from atlas.interpret import derive
from pipeline.sources import catalogue, peers
from schemas.registry import DISAGREEMENTS, MEASUREMENTS


def test_every_difference_is_explained() -> None:
    """Whatever another tool says otherwise, or does not say, has a reason; what agrees needs none."""
    t = peers.table()
    assert [r for r in t.rows if r.theirs != r.ours and t.why(r) is None] == []
    assert [r for r in t.rows if r.theirs == r.ours and r.theirs is not None and t.why(r)] == []


def test_at_least_85_of_the_89_configs_are_derived() -> None:
    """The two that are not are Step-3.7 files whose text config was flattened away, with its second head count."""
    t = peers.table()
    models = {r.model for r in t.rows}
    refused = {r.model for r in t.rows if r.ours is None}
    assert len(models) == 89
    assert refused == {"stepfun-ai/Step-3.7-Flash", "stepfun-ai/Step-3.7-Flash-FP8"}


def test_the_figures_called_ours_are_what_is_derived_now() -> None:
    """For every model that the catalogue has, too, its config gives the figures of the table."""
    entries = {e.repo: e for e in catalogue.load()}
    found = {r: entries[r.model] for r in peers.table().rows if r.model in entries}
    derived = {e.repo: derive(e.raw, name=e.repo).fingerprint for e in found.values()}
    assert {r: r.ours for r in found} == {r: getattr(derived[r.model], r.figure) for r in found}
    assert len(derived) >= 45


def test_known_mistakes_are_in_the_table() -> None:
    """Nemotron-H-56B has 10 attention layers of 118; counting all 118 gives 118 x 2 x 8 x 128 x 2 x 131,072 bytes."""
    t = peers.table()
    said = {r.tool: (r.theirs, t.why(r)) for r in t.rows if r.model == "nvidia/Nemotron-H-56B-Base-8K"}
    theirs, why = said["aiconfigurator-core"]
    assert theirs == 118 * 2 * 8 * 128 * 2 * 131_072
    assert why is not None
    assert "108 of 118 layers keep no K and V" in why


def test_rows_have_the_columns_and_keys_of_their_tables() -> None:
    """Rows fit the snapshot's tables, each key once, and only models that are asked for disagree."""
    some = peers.disagreements({"openai/gpt-oss-120b", "not/there"})
    assert {r["repo_id"] for r in some} == {"openai/gpt-oss-120b"}
    for made, table in ((some, DISAGREEMENTS), (peers.measurements(), MEASUREMENTS)):
        keys = [tuple(r[k] for k in table.key) for r in made]
        assert len(keys) == len(set(keys))
        assert all(r.keys() == set(table.columns) for r in made)
