"""One way from a MODEL, as people write it, to its config.

In this order: an existing path; an exact name of the atlas; a loose name ("llama 3.1 8b"); OWNER/NAME or its Hub
address, a revision after @: what huggingface_hub's cache holds, then the Hub. A word without a slash never goes to the
network, and OWNER/NAME is never taken for a name that merely resembles it. Without a snapshot the embedded catalogue
answers for the atlas.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from pipeline.ask import addresses, allowed, local, names, rows
from pipeline.ask.addresses import Named
from pipeline.ask.found import Asking, Found
from pipeline.errors import AtlasError, NotFound, Upstream
from pipeline.text import shorten, terminal

_COMMIT = re.compile(r"[0-9a-f]{7,40}")


def resolve(wanted: str, asking: Asking) -> Found:
    """The one model that a word means. Raises `NotFound`, `Usage`, `Invalid` or `Upstream`, each with what to do."""
    if wanted == "-":
        allowed.stdin(asking)
        return local.stdin()
    if not wanted.strip():
        raise NotFound("the name is empty: give a model's name, OWNER/NAME, or a path")
    path = allowed.existing(wanted, asking)
    if path is not None:
        return local.one(path)
    named = addresses.meant(wanted, asking.endpoint)
    if isinstance(named, Named):
        return _of_repository(named, asking)
    allowed.no_path(named, asking)
    return _of_atlas(named, asking)


def checkpoint(wanted: str, asking: Asking) -> Path | Named:
    """The weights that a word means: a path here or in huggingface_hub's cache, else a repository to ask the Hub for.

    Raises `NotFound`, `Usage`, or `Upstream` where the Hub would have to be asked and may not be.
    """
    path = allowed.existing(wanted, asking) if wanted else None
    if path is not None:
        return path
    named = addresses.meant(wanted, asking.endpoint)
    if not isinstance(named, Named):
        allowed.no_path(named, asking)
        named = Named(names.resolve(named, known_names(asking)), None)
    from pipeline.hub import single
    from pipeline.sources import headers

    one = single.cached(*named)
    if one is not None and one.folder is not None and headers.are_whole(one.folder):
        return one.folder
    if is_offline(asking):
        raise Upstream(
            f"the weights of {named.repo_id} are not in huggingface_hub's cache, and offline the Hub is not asked"
        )
    return named


def several(wanted: str, asking: Asking) -> tuple[list[Found], bool]:
    """The models that a word means, and whether it is a folder of configs. Raises what `resolve` raises."""
    path = allowed.existing(wanted, asking) if wanted != "-" else None
    if path is not None and local.is_several(path):
        return list(local.each(path)), True
    return [resolve(wanted, asking)], False


def _of_atlas(wanted: str, asking: Asking) -> Found:
    known = known_names(asking)
    return _row(names.resolve(wanted, known), asking)


def _of_repository(named: Named, asking: Asking) -> Found:
    from pipeline.hub import single

    known = known_names(asking)
    exact = next((n for n in (named.repo_id, *_same(named.repo_id, known)) if n in known), None)
    held = _held(exact, named.revision, asking)
    if isinstance(held, Found):
        return held
    one = single.cached(*named)
    if one is not None:
        return _found(one)
    folder = single.cached_folder(*named)
    if folder is not None and local.is_weights(folder.path):
        kept = local.one(folder.path)
        return msgspec.structs.replace(kept, name=folder.repo_id, source=folder.source, path=None)
    return _found(_from_hub(named, asking, held or names.near(named.repo_id, known)))


def _held(name: str | None, revision: str | None, asking: Asking) -> Found | str | None:
    """What the atlas holds of a repository at a revision; else what must be said of it where nothing else answers."""
    if name is None:
        return None
    try:
        found = _row(name, asking)
    except NotFound as error:  # it is listed, and no config of it was ever read: the cache or the Hub may have one
        return f"; {error}"
    at = found.revision or ""
    if revision is None or (_COMMIT.fullmatch(revision) and at.startswith(revision)):
        return found
    return f"; the atlas has it as of {found.as_of}" + (f" at {at[:8]}" if at else "")


def _same(repo_id: str, known: Sequence[str]) -> list[str]:
    return [n for n in known if n.casefold() == repo_id.casefold()]


def _found(one: object) -> Found:
    from pipeline.hub.single import One
    from pipeline.sources import beside

    assert isinstance(one, One)  # noqa: S101 - the type is imported late
    lying = None
    if one.folder is not None:
        try:
            lying = beside.of_folder(one.folder)
        except AtlasError:  # a cache holds what was fetched: shards that were not are no damage
            lying = beside.Beside(beside.settings_in(one.folder))
    return Found(name=one.repo_id, source=one.source, raw=one.raw, revision=one.revision, beside=lying)


def is_offline(asking: Asking) -> bool:
    """Whether the network may not be asked: by the option, or by huggingface_hub's own variables."""
    words = [os.environ.get(n, "") for n in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")]
    return asking.offline or any(w.upper() in ("1", "ON", "YES", "TRUE") for w in words)


def _from_hub(named: Named, asking: Asking, beside: str) -> object:
    """What the Hub has; where it may not or cannot answer, what was kept of it, or an error that ends in `beside`."""
    from pipeline.hub import login, single

    said = shorten(terminal(named.repo_id), 100) + (f" at {terminal(named.revision)}" if named.revision else "")
    if is_offline(asking):
        kept = single.archived(asking.home, *named)
        if kept is not None:
            return kept
        where = "is not in the atlas and not in huggingface_hub's cache"
        if beside.startswith("; the atlas has"):
            where = "is not in huggingface_hub's cache"
        raise NotFound(f"{said} {where}, and offline the Hub is not asked{beside}")
    print(f"atlas: asking the Hub for {said}", file=sys.stderr)  # noqa: T201 - messages go to stderr
    try:
        return single.online(asking.home, *named, asking.endpoint, login.token())
    except NotFound as error:
        raise NotFound(f"{error}{beside}") from error
    except Upstream as error:
        kept = single.archived(asking.home, *named)
        if kept is None:
            raise
        print(f"atlas: {error}; what was kept answers", file=sys.stderr)  # noqa: T201 - the same
        return kept


def snapshot_id(asking: Asking) -> str | None:
    """The snapshot that answers; None where the embedded catalogue does."""
    found = _snapshot(asking)
    return None if found is None else found[0]


def known_names(asking: Asking) -> list[str]:
    """Every name of the atlas: of the snapshot, or of the embedded catalogue where there is none."""
    path = _snapshot(asking)
    if path is None:
        from pipeline.sources import catalogue

        return [entry.repo for entry in catalogue.load()]
    return list(rows.held(path[1]).names)


def _snapshot(asking: Asking) -> tuple[str, Path] | None:
    """The id and file of the snapshot; None where the home has none and none was asked for."""
    from pipeline.store import shelf

    if asking.file is not None:
        return asking.label, Path(asking.file)
    if asking.snapshot is None and not shelf.folder(asking.home).joinpath("index.json").exists():
        return None
    return _located(asking.home.absolute(), asking.snapshot, _standing(shelf.folder(asking.home)))


def _standing(place: Path) -> tuple[tuple[str, int, int], ...]:
    """The files of a folder as they are now: while nothing changes, a snapshot's digest is proven once."""
    with os.scandir(place) as entries:
        files = [(e.name, e.stat()) for e in entries if e.is_file()]
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in files))


@lru_cache(maxsize=4)
def _located(home: Path, snapshot: str | None, _now: tuple[tuple[str, int, int], ...]) -> tuple[str, Path]:
    from pipeline.store import shelf

    entry, path = shelf.locate(home, snapshot)
    return entry.id, path


def _row(repo: str, asking: Asking) -> Found:
    path = _snapshot(asking)
    return rows.of_catalogue(repo) if path is None else rows.of_snapshot(repo, *path)
