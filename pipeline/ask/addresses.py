"""What a word says of the Hub: OWNER/NAME[@REVISION], or an address as a browser, git or the Hub's own library has it.

An address of something that is no model (a data set, a space, a paper, a file within a folder) is said to be that, and
is never taken for the model that its words happen to name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from pipeline.errors import NotFound
from pipeline.text import shorten, terminal

_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\/][^\x00-\x20\x7f~^:?*\[\\]{0,199}")
"""What git allows in the name of a branch or tag, within bounds."""
_HOSTS = ("huggingface.co", "www.huggingface.co", "hf.co")
_BARE = re.compile(rf"(?:{'|'.join(map(re.escape, _HOSTS))})(?::\d+)?/", re.IGNORECASE)
_OVER_SSH = re.compile(r"git@(?:huggingface\.co|hf\.co):", re.IGNORECASE)
_WITHIN = ("tree", "blob", "resolve", "raw", "commit", "commits")
_ELSE = {
    "datasets": "a data set", "spaces": "a space", "papers": "a paper", "collections": "a collection",
    "docs": "documentation", "api": "the Hub's interface for programs", "blog": "an article", "posts": "an article",
    "buckets": "a bucket", "models": "a list of models", "organizations": "a list of owners",
}  # fmt: skip
"""First words of the Hub's addresses that are no owner of models."""


class Named(NamedTuple):
    """A repository as a word names it, with the revision where it says one."""

    repo_id: str
    revision: str | None


def meant(wanted: str, endpoint: str | None = None) -> Named | str:
    """What a word means: a repository of the Hub, or a word to look up in the atlas.

    Raises `NotFound` for an address of anything but a model's repository, and for a revision that cannot be one.
    """
    word = wanted.strip()
    if word.lower().startswith("hf://"):
        return _of_library(wanted, word[5:])
    if _OVER_SSH.match(word):
        return _of_address(wanted, _parts(word.partition(":")[2]))
    if "://" in word or _BARE.match(word):
        return _of_address(wanted, _parts(_on_hub(wanted, word, endpoint)))
    parts = word.split("/")
    if len(parts) > 3 and parts[2] in _WITHIN:
        return _of_address(wanted, parts)
    return _plain(wanted, word)


def _on_hub(wanted: str, word: str, endpoint: str | None) -> str:
    """The path of an address on the Hub, or on the one that is asked instead. Raises `NotFound` for any other host."""
    address = _split(word if "://" in word else f"https://{word}")
    other = endpoint or os.environ.get("HF_ENDPOINT")
    hosts = {*_HOSTS, _host(_split(other)) if other else ""} - {""}
    if address is None or address.scheme.lower() not in ("http", "https") or _host(address) not in hosts:
        raise NotFound(f"{_said(wanted)} is no address of the Hub: give OWNER/NAME, or a path")
    return address.path


def _split(text: str) -> SplitResult | None:
    try:
        found = urlsplit(text)
        return found if found.hostname else None
    except ValueError:  # brackets or a port that are none
        return None


def _host(address: SplitResult | None) -> str:
    """The host in lower case, with its port where that is not the scheme's own."""
    if address is None:
        return ""
    try:
        port = address.port
    except ValueError:
        return ""
    return f"{address.hostname}" + ("" if port in (None, 80, 443) else f":{port}")


def _parts(path: str) -> list[str]:
    return [unquote(p) for p in path.split("/") if p]


def _of_library(wanted: str, rest: str) -> Named | str:
    """The address that huggingface_hub's file system takes: hf://[models/]OWNER/NAME[@REVISION][/FILE]."""
    parts = _parts(rest.removeprefix("models/"))
    if len(parts) > 2:
        _whole(wanted, parts[2:])
    return _plain(wanted, "/".join(parts[:2]), address=True)


def _of_address(wanted: str, parts: Sequence[str]) -> Named | str:
    if len(parts) == 1 and parts[0].lower() not in _ELSE:
        return parts[0]  # an owner's page, or a model of the time when names had no owner: the atlas may know it
    found = _plain(wanted, "/".join(parts[:2]).removesuffix(".git"), address=True)
    if len(parts) < 4 or parts[2] not in _WITHIN or not isinstance(found, Named):
        return found
    whole = 6 if parts[3] == "refs" else 4  # refs/pr/1 is one revision, also where its slashes were not escaped
    revision, file = "/".join(parts[3:whole]), parts[whole:]
    _whole(wanted, file)
    # `main` is the repository as it is now, which is what a bare name asks for.
    return found if revision == "main" else Named(found.repo_id, _revision(wanted, revision))


def _whole(wanted: str, file: Sequence[str]) -> None:
    """Raise `NotFound` where an address leads to a file that is not the model as a whole."""
    if len(file) > 1:
        raise NotFound(
            f"{_said(wanted)} leads into a folder of the repository, and the config at its top is read: "
            "give OWNER/NAME, or download the file and give its path"
        )
    if file and file[0].lower().endswith(".gguf"):
        raise NotFound(f"{_said(wanted)} is one GGUF of a repository: download it and give its path")


def _plain(wanted: str, word: str, *, address: bool = False) -> Named | str:
    """OWNER/NAME[@REVISION] as what it names; any other word as it is, unless it has to be an address."""
    repo, at, revision = word.partition("@")
    owner = repo.partition("/")[0].lower()
    if owner in _ELSE and "/" in repo:
        raise NotFound(f"{_said(wanted)} is {_ELSE[owner]} on the Hub and no model: give OWNER/NAME of a model")
    repo = repo.rstrip("/") if repo.count("/") == 2 else repo
    if not _REPO.fullmatch(repo) or ".." in repo:
        if address:
            raise NotFound(f"{_said(wanted)} names no model of the Hub: its address is huggingface.co/OWNER/NAME")
        return wanted
    return Named(repo, _revision(wanted, revision) if at else None)


def _revision(wanted: str, revision: str) -> str:
    if not _REVISION.fullmatch(revision) or ".." in revision or revision.endswith(("/", ".lock")):
        raise NotFound(f"{_said(wanted)} names no revision behind its @: give a branch, a tag or a commit")
    return revision


def _said(wanted: str) -> str:
    """The word as shown; what stands before an @ in an address's host may be a password."""
    return shorten(terminal(re.sub(r"(?<=://)[^/@]*@", "", wanted.strip())), 100)
