"""For tests of the guide: the snapshot of the catalogue, built once, and readers of generated Markdown."""

from __future__ import annotations

import atexit
import datetime as dt
import re
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import homes
import msgspec

from pipeline.guide import page, render
from pipeline.guide.render import Report
from pipeline.refresh import tables as derive
from pipeline.refresh.found import Input
from pipeline.store import snapshot

Table = list[dict[str, str]]
LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
    "max_position_embeddings": 64,
    "tie_word_embeddings": False,
    "architectures": ["LlamaForCausalLM"],
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "rope_theta": 10000.0,
}


def sources(folder: Path, template: str, **front: object) -> Path:
    """A folder of page sources with one page, `p`."""
    folder.mkdir(exist_ok=True)
    shipped = page.folder()
    for name in (page.CURRICULUM, page.REFERENCES, page.SHEET, page.SHARED, page.MACROS, page.FRAME):
        (folder / name).write_bytes((shipped / name).read_bytes())
    head = "\n".join(f"{key} = {msgspec.json.encode(value).decode()}" for key, value in {"title": "P", **front}.items())
    (folder / "p.md").write_text(f"+++\n{head}\n+++\n{template}")
    return folder


@cache
def home() -> Path:
    """A home with the snapshot of the catalogue and its guide."""
    place = Path(tempfile.mkdtemp(prefix="atlas-guide-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return homes.with_guide(place)


def publish(place: Path, configs: Mapping[str, bytes]) -> Path:
    """Publish a snapshot of these configs under a home; return its file."""
    day = dt.date(2026, 11, 29)
    tables = derive.tables(Input(repo, raw, "catalogue", day) for repo, raw in configs.items())
    return snapshot.publish(
        place, tables, snapshot.Publication(day=day, source="catalogue", listed=len(configs), code_version="0.2.0")
    ).path


@cache
def published(*names: str) -> Path:
    """A snapshot with one small model under each of these names."""
    folder = Path(tempfile.mkdtemp(prefix="atlas-render-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return publish(folder, {name: msgspec.json.encode(LLAMA) for name in names})


def snapshot_file() -> Path:
    """The file of the catalogue's snapshot."""
    (path,) = (home() / "snapshots").glob("*.duckdb")
    return path


@cache
def built() -> Report:
    """The guide of the catalogue, as its build reports it."""
    return render.build(home(), snapshot_file())


def text(slug: str) -> str:
    """One generated page, without the links of its terms to the glossary."""
    return re.sub(r"\[([^\]]+)\]\(glossary\.md#[^)]*\)", r"\1", built().files[f"{slug}.md"])


def tables(markdown: str) -> list[Table]:
    """The tables of a page: each a list of rows, each row by heading; links and escapes are taken off."""
    found: list[Table] = []
    for block in re.findall(r"(?:^\|.*\|\n)+", markdown, re.MULTILINE):
        lines = [[_bare(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block.splitlines()]
        head, _, *rows = lines
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def _bare(cell: str) -> str:
    unlinked = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell.strip()).replace("\u00a0", " ")
    return re.sub(r"\\(.)", r"\1", unlinked).strip("`")


def table(slug: str, *headings: str) -> Table:
    """The first table of a page that has all these headings."""
    for each in tables(text(slug)):
        if each and set(headings) <= set(each[0]):
            return each
    raise AssertionError(f"{slug} has no table with {headings}")


def column(rows: Table, key: str, value: str) -> dict[str, str]:
    """A table as a dict from one column to another."""
    return {row[key]: row[value] for row in rows}
