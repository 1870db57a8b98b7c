"""The site as files: every link leads somewhere, hostile names stay text, equal snapshots give equal bytes."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree as ET

import guide
import pytest
import site_made as site

from pipeline.cli import main
from pipeline.errors import NotFound
from pipeline.guide import render
from pipeline.site import build, served
from pipeline.sources import catalogue

HOSTILE = (
    "evil/<script>alert(1)</script>", "evil/a|b`c`](javascript:alert(1))", "evil/{{ 7*7 }}", "evil/\u202eexe.gnp",
    "evil/\x1b[31mred", "=cmd/+1-1@x", "CON/aux", "evil/../../etc", 'evil/"onload="x', "evil/" + "x" * 120,
)  # fmt: skip
LLAMA = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
    "vocab_size": 100, "max_position_embeddings": 128,
}  # fmt: skip


@cache
def few(folder: Path) -> Path:
    """A snapshot of every sixteenth model of the catalogue, with models beside it whose names want to act."""
    configs = {e.repo: e.raw for e in catalogue.load()[::16]}
    configs |= {name: json.dumps(LLAMA | {"vocab_size": 100 + n}).encode() for n, name in enumerate(HOSTILE)}
    return guide.publish(folder, configs)


@cache
def hostile(folder: Path) -> build.Site:
    """The site of that snapshot; its guide lies under the home, where the next build finds it."""
    render.build(folder, few(folder))
    return build.made_of(folder, few(folder), parquet=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of its own."""
    return tmp_path_factory.mktemp("hostile")


class Read(HTMLParser):
    """The tags, ids and links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids, self.links, self.tags = set[str](), list[str](), list[tuple[str, dict[str, str | None]]]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        found = dict(attrs)
        self.tags.append((tag, found))
        self.ids |= {found["id"]} if found.get("id") else set()
        self.links += [v for k in ("href", "src") if (v := found.get(k))]


def read(text: str) -> Read:
    """A page as read."""
    found = Read()
    found.feed(text)
    return found


@cache
def parsed() -> dict[str, Read]:
    """Every page of the catalogue's site."""
    return {p: read(t) for p, t in site.made().files.items() if p.endswith(".html") and isinstance(t, str)}


def test_every_link_and_anchor_leads_somewhere() -> None:
    """Links of pages are relative to files of the site, fragments are ids of their page; the rest is Hub and arXiv."""
    files, pages = site.made().files, parsed()
    for path, page in pages.items():
        for target in page.links:
            if target.startswith(("https://huggingface.co/", "https://arxiv.org/", "https://github.com/", "https://")):
                continue
            file, _, fragment = target.partition("#")
            place = resolved(path, file.partition("?")[0]) if file else path
            assert place in files or place == "search.html", (path, target)
            if fragment and not fragment.startswith("d=") and place in pages:
                assert fragment in pages[place].ids, (path, target)


def resolved(path: str, file: str) -> str:
    """Where a relative link leads."""
    parts: list[str] = []
    for part in PurePosixPath(path).parent.joinpath(file).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def test_every_design_has_sheet_drawing_and_data() -> None:
    """128 designs of the catalogue and no design without a picture."""
    made = site.made()
    for d in made.gathered.designs:
        for ending in ("html", "svg", "json"):
            assert f"designs/{d.design_id}.{ending}" in made.files, d.name


def test_ids_of_a_page_are_its_own() -> None:
    """No id stands twice in a page."""
    for path, page in parsed().items():
        ids = [a["id"] for _, a in page.tags if a.get("id")]
        assert len(ids) == len(set(ids)), path


@pytest.mark.slow
def test_equal_snapshots_give_equal_bytes(folder: Path) -> None:
    """A second build of the same snapshot is the same to the byte, apart from nothing."""
    assert build.made_of(folder, few(folder), parquet=False).files == hostile(folder).files


def test_a_build_writes_what_changed_and_removes_what_it_no_longer_makes(tmp_path: Path) -> None:
    """Only files that an earlier build named go; a line that leads out of the folder is not followed."""
    place, outside = tmp_path / "site", tmp_path / "outside.txt"
    first = build.write(place, {"index.html": "a", "designs/old.html": "b"}.items())
    outside.write_text("x")
    (place / "mine.txt").write_text("x")
    with (place / build.MANIFEST).open("a") as file:
        file.write("../outside.txt\n")
    second = build.write(place, {"index.html": "a", "designs/new.html": "c"}.items())
    third = build.write(place, {"index.html": "a", "designs/new.html": "c"}.items())
    assert (first.changed, second.changed, third.changed) == (3, 2, 0)
    assert (outside.exists(), (place / "mine.txt").exists(), (place / "designs" / "old.html").exists()) == (
        True,
        True,
        False,
    )


@pytest.mark.slow
def test_hostile_names_stay_text(folder: Path) -> None:
    """On sheets, table, gallery, changes and drawings: no tag, attribute, address or path comes from a name."""
    made = hostile(folder)
    evil = {d.name: d.design_id for d in made.gathered.designs if d.name in HOSTILE}
    assert len(evil) == len(HOSTILE)
    for path, text in made.files.items():
        assert re.fullmatch(r"[\w./-]+", path), path
        if not isinstance(text, str):
            continue
        assert "\u202e" not in text, path
        assert "\x1b" not in text, path
        if path.endswith(".html"):
            for tag, attributes in read(text).tags:
                assert not [k for k in attributes if k.startswith("on")], (path, tag)
                assert not [v for v in attributes.values() if v and v.strip().lower().startswith("javascript:")], path
                assert tag != "script" or "src" in attributes, path
    for design_id in evil.values():
        sheet = made.files[f"designs/{design_id}.svg"]
        tags = {e.tag.rpartition("}")[2] for e in ET.fromstring(sheet).iter()}
        assert tags <= {"svg", "title", "desc", "style", "g", "path", "rect", "text", "tspan", "ellipse"}


@pytest.mark.slow
def test_hostile_names_are_data_in_json_and_the_feed(folder: Path) -> None:
    """JSON decodes to the very names; the feed is well-formed."""
    made = hostile(folder).files
    names = {m["repo_id"] for m in json.loads(made["data/models.json"])["models"]}
    assert set(HOSTILE) <= names
    ET.fromstring(made["feed.xml"])
    rows = json.loads(str(made["data/table.js"]).removeprefix("atlasData=").removesuffix(";\n"))
    assert rows["rows"] == len(names)


def test_files_for_programs_follow_their_schema() -> None:
    """Every design's file and the index have exactly the keys that the published schema requires."""
    defined = json.loads(site.text("schema.json"))["$defs"]
    index = json.loads(site.text("data/models.json"))
    assert set(index) == set(defined["Index"]["required"])
    for d in site.made().gathered.designs:
        found = json.loads(site.text(f"designs/{d.design_id}.json"))
        assert set(found) == set(defined["DesignFile"]["required"])
        assert all(set(m) == set(defined["ModelRow"]["required"]) for m in found["models"])
        assert all(set(s) == set(defined["StateRow"]["required"]) for s in found["states"])


def test_the_data_of_a_design_says_what_is_known_of_it() -> None:
    """DeepSeek-V3: 671,026,419,200 weights (its checkpoint without the drafting layer), 70,272 bytes a token."""
    found = json.loads(site.text(site.sheet("deepseek-ai/DeepSeek-V3", "json")))
    assert (found["facts"]["params_total"], found["facts"]["growth_bytes_per_token"]) == (671026419200, 70272)
    assert sum(s["repeats"] * s["elements"] for s in found["states"]) == 61 * (512 + 64)


def test_own_scripts_weigh_less_than_thirty_kilobytes_and_name_no_other_place() -> None:
    """Script and style are ours: no library, no address of another origin."""
    assert len(site.text("assets/site.js").encode()) < 30_000
    for name in ("assets/site.js", "assets/site.css"):
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", site.text(name))


def test_a_model_language_model_finds_its_way() -> None:
    """llms.txt links the index, the schema and the pages of the guide, all of which are files."""
    for target in re.findall(r"\]\(([^)]+)\)", site.text("llms.txt")):
        assert target in site.made().files, target


def test_the_command_says_where_the_first_page_is_and_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The path goes to stdout; pages of the guide that the snapshot cannot fill are named on stderr."""
    report = guide.built()._replace(failed=(render.Failed("04-mla", "no model"),))
    monkeypatch.setattr(render, "current", lambda *_: report)
    monkeypatch.setattr(build, "files", lambda *_, **__: [("index.html", "x")])
    assert main(["site", "build", "--home", str(guide.home()), "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == str(tmp_path / "index.html")
    assert "left out: page 04-mla" in said.err


def test_a_folder_without_a_site_is_not_served(tmp_path: Path) -> None:
    """The sentence says what makes one."""
    with pytest.raises(NotFound, match="atlas site build"), served.server(tmp_path):
        pass
