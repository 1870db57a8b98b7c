"""The most downloaded repositories held against their own safetensors headers, which say what no config does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from atlas.stored.answer import HEADER
from pipeline.errors import AtlasError
from pipeline.hub.crawl import Progress
from pipeline.refresh import repositories
from pipeline.refresh.records import HUB, Options
from pipeline.sources.beside import LACKING
from pipeline.store.columns import Columns
from pipeline.store.staged import Staged
from schemas.registry import CHECKS
from schemas.tables import quoted
from schemas.vocabulary import Check, Verdict

if TYPE_CHECKING:
    from pipeline.verify.verification import Verified


def with_headers(options: Options, content: Staged, watch: Callable[[Progress], None] | None = None) -> Staged:
    """The content with the most downloaded repositories held against their own safetensors headers.

    A repository whose headers cannot be read has a row that says why; the refresh goes on.
    """
    if not options.headers:
        return content
    names = content.ask(
        f"SELECT repo_id FROM {content.table('models')} SEMI JOIN {_measurable(content)} USING (config_id)"
        f" WHERE source = '{HUB}' ORDER BY downloads DESC NULLS LAST, repo_id LIMIT {options.headers}"
    )
    columns = Columns(CHECKS)
    for done, (name,) in enumerate(names):
        if watch:
            watch(Progress("headers", done, options.headers, 0, 0.0))
        row, found = held_against_headers(str(name), options.endpoint)
        columns.add(tuple(row[c] for c in CHECKS.columns))
        if found is not None:
            _note_headers(content, str(name), found)
    content.add(CHECKS.name, columns.frame())
    for table, key, read in (("stored", "subject", OF_HEADERS), ("configs", "config_id", MEASURED)):
        if content.has(read):
            old, new = content.table(table), content.given(read)
            content.decide(table, f"SELECT * FROM {old} ANTI JOIN {new} USING ({key}) UNION ALL FROM {new}")
    return content


OF_HEADERS, MEASURED = "of_headers", "measured"


def _measurable(content: Staged) -> str:
    """The configs that headers can say something of: those derived, and those that only lack a rule."""
    kinds = ", ".join(f"'{kind}'" for kind in LACKING)
    return (
        f"(SELECT config_id FROM {content.table('configs')} WHERE design_id IS NOT NULL"
        f" UNION ALL SELECT config_id FROM {content.table('refusals')} WHERE kind IN ({kinds}))"
    )


def _note_headers(content: Staged, name: str, found: Verified) -> None:
    """Put aside what a repository's headers say: its stored form, its weights where no rule is known."""
    content.add(OF_HEADERS, repositories.of_headers(name, found.stored.rows))
    models, row = content.table("models"), found.fingerprint
    ids = f"SELECT config_id FROM {models} WHERE repo_id = {quoted(name)}"
    alone = content.ask(f"SELECT count(*) FROM {models} WHERE config_id = ({ids})") == [(1,)]
    if row.verdict == Verdict.MEASURED and alone:
        config = content.frame(f"SELECT * FROM {content.table('configs')} WHERE config_id = ({ids})", "configs")
        content.add(MEASURED, repositories.measured(config, row.params_checkpoint, found.evidence))


def held_against_headers(name: str, endpoint: str | None) -> tuple[dict[str, Any], Verified | None]:
    """The row of `checks` that a repository's headers give, or that says why they give none; and what they hold."""
    from pipeline.verify.verification import check_row, verify

    try:
        found = verify(name, endpoint)
        return check_row(found), found if found.stored.evidence == HEADER else None
    except Exception as error:  # noqa: BLE001 - what one stranger's header holds ends no refresh
        why = str(error).splitlines()[0] if isinstance(error, AtlasError) else f"unreadable: {type(error).__name__}"
        nothing = {"repo_id": name, "kind": "headers", "source": "its own headers", "expected": None, "derived": None}
        return nothing | {"result": Check.UNCHECKED.value, "note": why}, None
