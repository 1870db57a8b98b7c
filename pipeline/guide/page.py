"""The source of a page (front matter in TOML, named SQL queries in fences, a template) and the curriculum.

    +++
    title = "The dense baseline"
    axis = "foundation"
    exemplars = ["meta-llama/Llama-3.1-8B"]
    +++
    ```sql record
    SELECT ... WHERE repo_id = $exemplar
    ```
    Text with {{ row.record.n_layers|count }} layers.

In a query `$exemplar`, `$exemplars` (`$exemplars[1]` for one), `$contrasts` and `$models` (both) stand for the front
matter's repositories, `$everyone` for the exemplars of all pages, as SQL literals.
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pipeline.errors import Invalid
from pipeline.guide.reserving import Reserve
from schemas.tables import quoted

CURRICULUM = "curriculum.toml"
REFERENCES = "references.toml"
SHEET = "_sheet.md"
SHARED = "_shared.md"
MACROS = "_macros.md"
FRAME = "_frame.md"
INDEX = "README"
_QUERY = re.compile(r"^```sql (\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_FORM = re.compile(r"\+\+\+\n(.*?)^\+\+\+\n(.*)", re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(r"\$(\w+(?:\[\d+\])?)")
_SLUG = re.compile(r"[^a-z0-9.]+")


class WhatIf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A counterfactual a page needs: a change of `pipeline.counterfactual` to the config of `base`, or its own one."""

    label: str
    base: str | None = None
    change: str | None = None
    config: dict[str, Any] | None = None


class Front(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands before a page.

    `prerequisites` and `next` are module numbers; `use` names queries of `_shared.md`, `references` works of
    `references.toml`; `reserve` asks engines for their sizes; `verdict` is the counterfactual that the five costs are
    held against; `constants` gives a reason for every column of its queries that is a bare numeral, `numerals` one for
    every number it writes out.
    """

    title: str
    axis: str = ""
    prerequisites: tuple[str, ...] = ()
    next: str | None = None
    use: tuple[str, ...] = ()
    exemplars: tuple[str, ...] = ()
    contrasts: tuple[str, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    reserve: tuple[Reserve, ...] = ()
    glossary: dict[str, str] = {}
    references: tuple[str, ...] = ()
    verdict: str = ""
    constants: dict[str, str] = {}
    numerals: dict[str, str] = {}


class Page(NamedTuple):
    """One source file: `slug` is the name of what is made of it, `source` its own; they differ for the index alone."""

    slug: str
    source: str
    front: Front
    queries: dict[str, str]
    template: str

    @property
    def models(self) -> tuple[str, ...]:
        """Every repository the page is about."""
        return tuple(dict.fromkeys(self.front.exemplars + self.front.contrasts))


class Module(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A module of the curriculum, written or not."""

    slug: str
    title: str
    axis: str


def folder() -> Path:
    """Where the sources are: inside the installed package, or beside it in a checkout."""
    packaged = Path(str(files("pipeline.guide"))) / "pages"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "reports" / "pages"


def curriculum(place: Path) -> dict[str, Module]:
    """The modules by number, in order."""
    data = tomllib.loads((place / CURRICULUM).read_text("utf-8"))
    return {number: msgspec.convert(entry, Module) for number, entry in sorted(data.items())}


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A work that pages cite: what a reader sees, and where it can be opened."""

    label: str
    url: str


def references(place: Path) -> dict[str, Reference]:
    """The works that pages may cite, by key."""
    data = tomllib.loads((place / REFERENCES).read_text("utf-8"))
    return {key: msgspec.convert(entry, Reference) for key, entry in data.items()}


def sources(place: Path) -> list[Page]:
    """Every page, in file-name order; names that begin with an underscore are parts of others. Raises `Invalid`."""
    paths = sorted(p for p in place.glob("*.md") if not p.name.startswith("_") and p.stem != INDEX)
    return [read(p) for p in paths]


def shared(place: Path) -> dict[str, str]:
    """The queries that several pages use, by name."""
    return dict(_QUERY.findall((place / SHARED).read_text("utf-8")))


def read(path: Path) -> Page:
    """One page, the shared queries it uses first; raises `Invalid`, naming the file, where it is none."""
    form = _FORM.fullmatch(path.read_text("utf-8"))
    if form is None:
        raise Invalid(f"page {path.name} does not begin with front matter between two lines of +++")
    try:
        front = msgspec.convert(tomllib.loads(form[1]), Front)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise Invalid(f"page {path.name}: its front matter cannot be read: {error}") from error
    found = _QUERY.findall(form[2])
    borrowed = shared(path.parent) if front.use else {}
    missing = [name for name in front.use if name not in borrowed]
    queries = {name: borrowed[name] for name in front.use if name in borrowed} | dict(found)
    if missing or len(queries) != len(found) + len(front.use):
        raise Invalid(f"page {path.name} has two queries of one name, or none for {missing}")
    slug = INDEX if path.stem == "index" else path.stem
    return Page(slug, path.name, front, queries, _QUERY.sub("", form[2]).lstrip("\n"))


def filled(page: Page, query: str, everyone: tuple[str, ...] = ()) -> str:
    """A query with the front matter's repositories in it, as it is run and as it is shown. Raises `Invalid`."""
    known = {
        "exemplar": quoted(page.front.exemplars[0]) if page.front.exemplars else None,
        **{f"exemplars[{i}]": quoted(name) for i, name in enumerate(page.front.exemplars, 1)},
        "exemplars": literal(page.front.exemplars),
        "contrasts": literal(page.front.contrasts),
        "models": literal(page.models),
        "everyone": literal(everyone),
        "verdict": quoted(page.front.verdict),
    }

    def value(found: re.Match[str]) -> str:
        given = known.get(found[1])
        if given is None:
            raise Invalid(f"page {page.slug}: query {query} asks for ${found[1]}, which the front matter does not give")
        return given

    return _PARAMETER.sub(value, page.queries[query]).strip()


def literal(names: tuple[str, ...]) -> str:
    """A SQL list of texts."""
    return f"([{', '.join(map(quoted, names))}]::VARCHAR[])"


def sheet_slug(repo_id: str) -> str:
    """File name of an exemplar's sheet. Exemplars are pinned by us; a name of a stranger never comes here."""
    return _SLUG.sub("-", repo_id.partition("/")[2].lower()).strip("-.")
