"""For tests of the site: that of the catalogue, built once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import guide

from pipeline.site import build
from pipeline.site.build import SITE, Site
from pipeline.site.gather import gather


@cache
def made() -> Site:
    """Every file of the catalogue's site, in memory."""
    path, report = guide.snapshot_file(), guide.built()
    gathered = gather(path)
    return Site(gathered, dict(build.files(guide.home(), path, gathered, report)))


@cache
def folder() -> Path:
    """The folder of the catalogue's site."""
    place = guide.home() / SITE
    build.write(place, made().files.items())
    return place


def sheet(repo: str, ending: str = "html") -> str:
    """Where the sheet of a model stands."""
    return next(f"designs/{m['design_id']}.{ending}" for m in made().gathered.models if m["repo_id"] == repo)


def text(path: str) -> str:
    """A file of the site as text."""
    content = made().files[path]
    assert isinstance(content, str)
    return content
