"""After a snapshot is published: the guide is built from it, and what was done is said."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pipeline.errors import AtlasError
from pipeline.refresh.records import Gathered, Options, Report
from pipeline.store import shelf, sightings
from pipeline.store.sightings import News
from pipeline.store.snapshot import Published
from pipeline.store.staged import Staged


def report(
    options: Options,
    gathered: Gathered,
    content: Staged,
    published: Published,
    built: tuple[list[str], dict[str, str]] | None = None,
) -> Report:
    """Build the guide, unless it is `built` already, and say what was done."""
    pages, failed = built or build_guide(options.home, published.path)
    return Report(
        published.entry.id,
        published.path,
        published.is_new,
        content.count("models"),
        content.count("designs"),
        content.counts("models", "outcome"),
        content.counts("configs", "verdict"),
        pages,
        failed,
        None if gathered.crawl is None else msgspec.to_builtins(gathered.crawl.summary),
        unseen(options.home, published),
    )


def unseen(home: Path, published: Published) -> list[News]:
    """The model_types, classes and unread keys that the snapshot before a new one never had."""
    if not published.is_new or published.entry.previous is None:
        return []
    try:
        _, before = shelf.locate(home, published.entry.previous, of_any_major=True)
    except AtlasError:  # pruned, retracted or damaged meanwhile: nothing can be said
        return []
    return sightings.news(published.path, before)


def build_guide(home: Path, path: Path) -> tuple[list[str], dict[str, str]]:
    """Build the guide's pages; those that cannot be built keep their last version and are named with the reason."""
    from pipeline.guide import render

    try:
        built = render.build(home, path)
    except (AtlasError, OSError) as error:  # the snapshot is published: that is what counts
        return [], {"every page": str(error)}
    return [page.slug for page in built.built], {page.slug: page.reason for page in built.failed}
