"""The most downloaded repositories held against their own safetensors headers, which say what no config does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from atlas.stored.answer import HEADER, INDEX
from pipeline.errors import AtlasError
from pipeline.hub.crawl import Progress
from pipeline.refresh import repositories
from pipeline.refresh.records import CATALOGUE, HUB, Options
from pipeline.sources import beside, disk
from pipeline.sources.beside import LACKING
from pipeline.store.columns import Columns
from pipeline.store.staged import Staged
from schemas.registry import CHECKS
from schemas.tables import quoted
from schemas.vocabulary import Check, Verdict

if TYPE_CHECKING:
    from pipeline.verify.verification import Verified


def with_headers(options: Options, content: Staged, watch: Callable[[Progress], None] | None = None) -> Staged:
    """The content with repositories held against their own safetensors headers.

    These are the most downloaded of the Hub, as many as were asked for, and every checkpoint of a folder that holds
    weights. A repository whose headers cannot be read has a row that says why; the refresh goes on.
    """
    at = _weighed_at(options, content)
    columns = Columns(CHECKS)
    for done, (name, target) in enumerate(at.items()):
        if watch:
            watch(Progress("headers", done, len(at), 0, 0.0))
        row, found = held_against_headers(name, target, options.endpoint)
        columns.add(tuple(row[c] for c in CHECKS.columns))
        if found is not None:
            _note_headers(content, str(name), found)
    if at:
        content.add(CHECKS.name, columns.frame())
    for table, key, read in (("stored", "subject", OF_HEADERS), ("configs", "config_id", MEASURED)):
        if content.has(read):
            old, new = content.table(table), content.given(read)
            content.decide(table, f"SELECT * FROM {old} ANTI JOIN {new} USING ({key}) UNION ALL FROM {new}")
    return content


def _weighed_at(options: Options, content: Staged) -> dict[str, str | Path]:
    """The repositories whose headers are read, each with where they are."""
    if options.source not in (CATALOGUE, HUB):
        found = disk.checkpoints(Path(options.source))
        return {name: folder for name, folder in found.items() if beside.has_weights(folder)}
    if not options.headers:
        return {}
    names = content.ask(
        f"SELECT repo_id FROM {content.table('models')} SEMI JOIN {_measurable(content)} USING (config_id)"
        f" WHERE source = '{HUB}' ORDER BY downloads DESC NULLS LAST, repo_id LIMIT {options.headers}"
    )
    return {str(name): str(name) for (name,) in names}


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


def held_against_headers(name: str, target: str | Path, endpoint: str | None) -> tuple[dict[str, Any], Verified | None]:
    """The row of `checks` that a repository's headers give, or that says why they give none; and what they hold.

    `target` is the repository's name on the Hub, or its folder.
    """
    from pipeline.verify.verification import check_row, on_disk, on_hub

    try:
        found = on_disk(target) if isinstance(target, Path) else on_hub(target, endpoint=endpoint)
        found = msgspec.structs.replace(found, name=name)
        return check_row(found), found if found.stored.evidence in (HEADER, INDEX) else None
    except Exception as error:  # noqa: BLE001 - what one stranger's header holds ends no refresh
        why = str(error).splitlines()[0] if isinstance(error, AtlasError) else f"unreadable: {type(error).__name__}"
        nothing = {"repo_id": name, "kind": "headers", "source": "its own headers", "expected": None, "derived": None}
        return nothing | {"result": Check.UNCHECKED.value, "note": why}, None
