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
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from pipeline.ask import local, names, rows
from pipeline.ask.found import Asking, Found
from pipeline.errors import AtlasError, NotFound, Upstream
from pipeline.text import shorten, terminal

_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_HOSTS = ("huggingface.co", "www.huggingface.co", "hf.co")
_ADDRESS = re.compile(r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/", re.IGNORECASE)


class Named(NamedTuple):
    """A repository as a word names it, with the revision where it says one."""

    repo_id: str
    revision: str | None


def resolve(wanted: str, asking: Asking) -> Found:
    """The one model that a word means. Raises `NotFound`, `Usage`, `Invalid` or `Upstream`, each with what to do."""
    if wanted == "-":
        return local.stdin()
    if not wanted.strip():
        raise NotFound("the name is empty: give a model's name, OWNER/NAME, or a path")
    path = _existing(wanted)
    if path is not None:
        return local.one(path)
    named = repository(wanted)
    if named is None:
        if wanted.startswith((".", "/", "~")) or wanted.endswith((".json", ".gguf", ".safetensors")):
            raise NotFound(f"{terminal(wanted)} does not exist: give a config, a folder, a file of weights, or a name")
        return _of_atlas(wanted, asking)
    return _of_repository(named, asking)


def checkpoint(wanted: str, asking: Asking) -> Path | Named:
    """The weights that a word means: a path here or in huggingface_hub's cache, else a repository to ask the Hub for.

    Raises `NotFound`, `Usage`, or `Upstream` where the Hub would have to be asked and may not be.
    """
    path = _existing(wanted) if wanted else None
    if path is not None:
        return path
    if wanted.startswith((".", "/", "~")):
        raise NotFound(
            f"{terminal(wanted)} does not exist: give a checkpoint folder, a .safetensors file, or owner/name"
        )
    named = repository(wanted) or Named(names.resolve(wanted, known_names(asking)), None)
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
    path = _existing(wanted) if wanted != "-" else None
    if path is not None and local.is_several(path):
        return list(local.each(path)), True
    return [resolve(wanted, asking)], False


def repository(wanted: str) -> Named | None:
    """OWNER/NAME[@REVISION] or a Hub address as what it names; None for any other word."""
    word, revision = wanted.strip(), None
    if _ADDRESS.match(word):
        address = urlsplit(word if "://" in word else f"https://{word}")
        parts = [unquote(p) for p in address.path.split("/") if p]
        if len(parts) < 2:
            return None
        if len(parts) > 3 and parts[2] in ("tree", "blob", "resolve", "commit"):
            revision = parts[3] if parts[3] != "main" else None  # as it is now, which is what a bare name asks for
        word, _, after = "/".join(parts[:2]).partition("@")
        revision = after or revision
    else:
        word, _, after = word.partition("@")
        revision = after or None
    return Named(word, revision) if _REPO.fullmatch(word) and ".." not in word else None


def _existing(wanted: str) -> Path | None:
    try:
        path = Path(wanted)
        return path if path.exists() else None
    except (OSError, ValueError):  # a name too long, or with a null
        return None


def _of_atlas(wanted: str, asking: Asking) -> Found:
    known = known_names(asking)
    return _row(names.resolve(wanted, known), asking)


def _of_repository(named: Named, asking: Asking) -> Found:
    known = known_names(asking)
    exact = next((n for n in (named.repo_id, *_same(named.repo_id, known)) if n in known), None)
    if exact is not None:
        found = _row(exact, asking)
        if named.revision is None or (found.revision or "").startswith(named.revision):
            return found
    from pipeline.hub import single

    one = single.cached(*named)
    if one is None:
        one = _from_hub(named, asking, known)
    return _found(one)


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


def _from_hub(named: Named, asking: Asking, known: Sequence[str]) -> object:
    from pipeline.hub import login, single

    said = shorten(terminal(named.repo_id), 100)
    if is_offline(asking):
        kept = single.archived(asking.home, *named)
        if kept is not None:
            return kept
        raise NotFound(
            f"{said} is not in the atlas and not in huggingface_hub's cache, and offline the Hub is not asked"
            + names.near(named.repo_id, known)
        )
    at = f"@{terminal(named.revision)}" if named.revision else ""
    print(f"atlas: asking the Hub for {said}{at}", file=sys.stderr)  # noqa: T201 - messages go to stderr
    try:
        return single.online(asking.home, *named, asking.endpoint, login.token())
    except NotFound as error:
        raise NotFound(f"{error}{names.near(named.repo_id, known)}") from error
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
    import duckdb

    with duckdb.connect(str(path[1]), read_only=True) as con:
        return [n for (n,) in con.execute("SELECT repo_id FROM models ORDER BY repo_id").fetchall()]


def _snapshot(asking: Asking) -> tuple[str, Path] | None:
    """The id and file of the snapshot; None where the home has none and none was asked for."""
    from pipeline.store import shelf

    if asking.file is not None:
        return asking.label, Path(asking.file)
    if asking.snapshot is None and not shelf.folder(asking.home).joinpath("index.json").exists():
        return None
    entry, path = shelf.locate(asking.home, asking.snapshot)
    return entry.id, path


def _row(repo: str, asking: Asking) -> Found:
    path = _snapshot(asking)
    return rows.of_catalogue(repo) if path is None else rows.of_snapshot(repo, *path)
