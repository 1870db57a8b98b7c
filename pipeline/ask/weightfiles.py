"""A file of weights that stands alone: a safetensors file by its header."""

from __future__ import annotations

from pathlib import Path

from atlas.checkpoint.header import apart_of
from atlas.interpret import refusal
from atlas.refusal import Refused
from pipeline.ask.found import Found
from pipeline.sources import beside, disk, headers
from schemas.vocabulary import RefusalKind


def of_safetensors(path: Path) -> Found:
    """A lone file: its weights by its header, without a structure. Raises `NotFound` or `Invalid`."""
    name, found = disk.shown(path).removesuffix(".safetensors"), headers.local(path)
    apart = {apart_of(n, e) for n, e in found.listing.items()}
    part = " and perhaps one of several files of a model" if "-of-" in path.name else ""
    why = f"a file of weights without a config{part}: shapes alone give no structure, no cache and no cost"
    nothing = refusal(Refused(RefusalKind.NOT_DERIVABLE, why), name, None)
    made = beside.weighed(nothing, {}, beside.Beside({}, beside.files_of(found)))
    note = "it holds more than the language model" if apart - {None} else None
    return Found(name=name, source=str(path), path=str(path), made=made, note=note)
