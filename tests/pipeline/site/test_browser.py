"""The site in a real headless Chromium: it loads clean, can be used, and says what Python says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
import site_made as site
from browser import Watched, browser, shown

from atlas.interpret import derive
from pipeline.site import build, listing
from pipeline.site.gather import Design
from pipeline.site.shell import framed
from pipeline.sources import catalogue

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

V3, GEMMA, LLAMA = "deepseek-ai/DeepSeek-V3", "google/gemma-3-27b-it", "meta-llama/Llama-3.1-8B"
PAGES = (
    "index.html", "models.html", "designs.html", "legend.html", "compare.html", "search.html?q=mla", "changes.html",
    "trends.html", "first-seen.html", "data.html", "guide/index.html", "guide/04-mla.html",
    "guide/glossary.html", "guide/data-dictionary.html",
)  # fmt: skip
CACHE_CONTEXTS = (
    1,
    7,
    127,
    128,
    129,
    500,
    1000,
    1023,
    1024,
    1025,
    4095,
    4096,
    4097,
    8192,
    32768,
    65537,
    131072,
    262144,
    1000000,
    1048576,
)


@pytest.fixture(scope="module")
def opened() -> Iterator[tuple[object, str]]:
    """A browser and where the site of the catalogue is."""
    with browser() as made, shown(site.folder()) as origin:
        yield made, origin


@pytest.fixture
def watched(opened: tuple[object, str]) -> Iterator[Watched]:
    """A wide, light page."""
    page = Watched(*opened)  # pyright: ignore[reportArgumentType]
    yield page
    page.close()


def pages() -> list[str]:
    """The pages looked at: those that are one of their kind, and three sheets."""
    return [*PAGES, *(site.sheet(r) for r in (V3, GEMMA, "openai/whisper-large-v3-turbo"))]


AXE = ("index.html", "models.html#q=deepseek-v3", "designs.html", "legend.html", "changes.html", "guide/04-mla.html")
"""One page of each kind: what axe looks at, with a sheet and a comparison."""
WINDOWS = ((400, "light"), (768, "light"), (1280, "dark"))
HIDDEN = """paths => Promise.all(paths.map(path => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.hidden = true;
  frame.src = new URL(path, location.href);
  const ready = () => frame.contentDocument?.body?.dataset.ready ? (frame.remove(), done()) : setTimeout(ready, 5);
  frame.onload = ready;
  document.body.append(frame);
})))"""
A_TIME = 24


def test_pages_load_clean_and_fit_their_window(watched: Watched) -> None:
    """No error, no request off the origin, no sideways scrolling of the page; light and dark, narrow and wide."""
    for path in pages():
        page = watched.go(path)
        for width, scheme in WINDOWS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert (path, width, wide, watched.wrong) == (path, width, 0, [])


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_axe_finds_no_violation(opened: tuple[object, str], width: int, scheme: str) -> None:
    """One page of each kind, as axe-core sees it: names, contrast, landmarks, what scrolls can be reached."""
    hold_by_axe(Watched(*opened, width, scheme), AXE)  # pyright: ignore[reportArgumentType]


@pytest.mark.soak
def test_axe_finds_no_violation_on_any_page(opened: tuple[object, str]) -> None:
    """The same for every page that is no sheet, and for each tenth sheet."""
    every = sorted(p for p in site.made().files if p.endswith(".html"))
    sheets = [p for p in every if p.startswith("designs/")]
    hold_by_axe(Watched(*opened, 768, "light"), [*(p for p in every if p not in sheets), *sheets[::10]])  # pyright: ignore[reportArgumentType]


def hold_by_axe(watched: Watched, paths: Iterable[str]) -> None:
    """Open the pages, a sheet and a comparison: axe finds nothing."""
    from axe_playwright_python.base import AXE_FILE_PATH

    axe = AXE_FILE_PATH.read_text("utf-8")
    for path in (*paths, site.sheet(V3), f"compare.html#d={','.join(designs(V3, GEMMA))}"):
        page = watched.go(path)
        page.evaluate(axe)
        found = page.evaluate(
            "axe.run({resultTypes: ['violations'], preload: false})"
            ".then(r => r.violations.map(v => v.id + ': ' + v.nodes[0].html))"
        )
        assert (path, found) == (path, [])
    watched.close()


def designs(*repos: str) -> list[str]:
    """The designs of these models."""
    return [site.sheet(r).removeprefix("designs/").removesuffix(".html") for r in repos]


def test_every_page_loads_without_an_error(watched: Watched) -> None:
    """All pages of the site, sheets of every design among them: no console error, no request off the origin.

    They are loaded and their scripts run in frames that are not shown: what is drawn is looked at elsewhere.
    """
    page = watched.go("index.html")
    paths = sorted(p for p in site.made().files if p.endswith(".html"))
    for n in range(0, len(paths), A_TIME):
        some = paths[n : n + A_TIME]
        page.evaluate(HIDDEN, some)
        assert (some, watched.wrong) == (some, [])


def test_a_filter_by_mla_shows_only_mla_and_its_address_restores_the_view(watched: Watched) -> None:
    """The state of the table is in the address: opened anew it shows the same rows."""
    page = watched.go("models.html")
    page.get_by_label("Filter Attention").select_option("mla")
    rows = page.locator("#table tbody tr")
    mla = [m["repo_id"] for m in site.made().gathered.models if m["attention_kind"] == "mla"]
    assert [r.split("\t")[0] for r in rows.all_inner_texts()] == mla
    address = page.url
    assert address.endswith("#attention=mla")
    page.get_by_role("button", name="Parameters").click()
    sorted_ = rows.all_inner_texts()
    assert page.url.endswith("#attention=mla&s=-total")
    again = watched.go(page.url.removeprefix(watched.origin))
    assert again.locator("#table tbody tr").all_inner_texts() == sorted_
    totals = {m["repo_id"]: m["params_total"] for m in site.made().gathered.models}
    sizes = [totals[r.split("\t")[0]] for r in sorted_]
    assert sizes == sorted(sizes, reverse=True)


def listed(page: Page) -> set[str]:
    """The models on this page of the table."""
    return {r.split("\t")[0] for r in page.locator("#table tbody tr").all_inner_texts()}


def test_sizes_are_filtered_by_a_comparison(watched: Watched) -> None:
    """`> 100B` leaves the models with more than a hundred billion parameters."""
    page = watched.go("models.html")
    page.get_by_label("Filter Parameters").fill("> 100B")
    shown_, after = listed(page), page.get_by_role("button", name="Next page")
    while after.is_enabled():
        after.click()
        shown_ |= listed(page)
    totals = {m["repo_id"]: m["params_total"] for m in site.made().gathered.models}
    assert shown_ == {repo for repo, total in totals.items() if total is not None and total > 100e9}


def test_search_finds_a_model_a_term_and_a_page(watched: Watched) -> None:
    """The box gives links while one types, wherever one is."""
    page = watched.go(site.sheet(V3))
    for text, kind in (
        ("meta-llama/llama-3.1-8b", "design"),
        ("absorbed form", "term"),
        ("mixture of experts", "page"),
    ):
        page.get_by_role("searchbox").fill(text)
        first = page.locator(".found li").first
        first.wait_for()
        page.wait_for_function(
            "t => document.querySelector('.found li')?.textContent.toLowerCase().includes(t)", arg=text
        )
        assert first.inner_text().endswith(kind)


def test_a_comparison_is_a_link(watched: Watched) -> None:
    """The address names the designs; what differs is marked, and drawings stand side by side."""
    ids = designs(V3, GEMMA, LLAMA)
    page = watched.go(f"compare.html#d={','.join(ids)}")
    assert page.locator("#compare thead th").count() == 3
    assert page.locator("#compare .abreast img").count() == 3
    differs = [r.split("\t")[0] for r in page.locator("#compare tr.differs").all_inner_texts()]
    assert "Attention ≠" in differs
    assert watched.wrong == []


def test_the_slider_says_what_python_says_of_every_design_at_twenty_contexts(watched: Watched) -> None:
    """The script evaluates the rows of `states`; Python folds the structure: both give the same bytes."""
    from atlas.numbers.measure import kv_bytes

    raw = {e.repo: e.raw for e in catalogue.load()}
    page = watched.go("models.html")
    designs: list[Design] = site.made().gathered.designs
    rows = [[(s.repeats, s.elements, s.stride, s.window, s.width) for s in d.states] for d in designs]
    said = page.evaluate(
        "([rows, contexts]) => rows.map(s => contexts.map(c => [2, 1, 0.5].map(w => atlasBytes(s, c, w))))",
        [json.loads(json.dumps(rows)), list(CACHE_CONTEXTS)],
    )
    for d, found in zip(designs, said, strict=True):
        if d.has_cache:
            model = derive(raw[d.name]).model
            assert model is not None
            wanted = [[kv_bytes(model, c, w) for w in (2, 1, 0.5)] for c in CACHE_CONTEXTS]
            assert (d.name, found) == (d.name, wanted)


def test_the_slider_of_a_sheet_follows_its_inputs(watched: Watched) -> None:
    """Llama-3.1-8B keeps 131,072 bytes a token: 1,000 tokens, three sequences, fp8: 196,608,000 bytes."""
    page = watched.go(site.sheet(LLAMA))
    page.get_by_label("Tokens of context, exactly").fill("1000")
    page.get_by_label("Sequences").fill("3")
    page.get_by_label("Type of the cache").select_option("fp8")
    assert "(196,608,000 bytes)" in page.locator(".bytes").inner_text()


def test_everything_is_reached_by_keyboard(watched: Watched) -> None:
    """Tab goes through every link, input and region of a page, each where it can be seen."""
    for path in ("models.html#q=gemma-3", site.sheet(GEMMA)):
        page = watched.go(path)
        wanted = page.evaluate(
            "[...document.querySelectorAll('a[href],button:not([disabled]),input,select,summary,[tabindex=\"0\"]')]"
            ".filter(e => e.getClientRects().length && !e.closest('details:not([open]) > :not(summary)')).length"
        )
        seen: set[str] = set()
        for _ in range(wanted + 3):
            page.keyboard.press("Tab")
            seen.add(
                page.evaluate(
                    "(() => { const e = document.activeElement; e.dataset.n ||= Math.random(); return e.dataset.n; })()"
                )
            )
        assert len(seen) >= wanted


def test_pages_are_whole_without_a_script(opened: tuple[object, str]) -> None:
    """Figures, drawing and tables of a sheet, and the first rows of the table of models, need none."""
    watched = Watched(*opened, script=False)  # pyright: ignore[reportArgumentType]
    page = watched.go(site.sheet(LLAMA))
    assert "131,072" in page.locator("main").inner_text()
    assert page.locator("img.drawing").is_visible()
    assert watched.go("models.html").locator("#table tbody tr").count() == 100
    watched.close()


def test_what_is_shown_comes_as_csv(watched: Watched) -> None:
    """The file has the chosen columns and the filtered rows, with full numbers."""
    page = watched.go("models.html#attention=mla")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = download.value.path().read_text("utf-8").splitlines()
    assert lines[0].startswith("name,total,active,attention")
    assert len(lines) - 1 == sum(m["attention_kind"] == "mla" for m in site.made().gathered.models)
    assert any(re.match(r"deepseek-ai/DeepSeek-V3,671026419200,", line) for line in lines)


def test_twenty_thousand_models_are_filtered_at_once(opened: tuple[object, str], tmp_path: Path) -> None:
    """First rows within a second, a filter within 100 ms; five times as much is allowed on a busy machine."""
    g = site.made().gathered
    many = [{**m, "repo_id": f"{m['repo_id']}-{n}"} for n in range(-(-20_000 // len(g.models))) for m in g.models][
        :20_000
    ]
    grown = msgspec.structs.replace(g, models=many)
    table = {"data/table.js": listing.data(grown), "models.html": framed(listing.page(grown), "")}
    build.write(tmp_path, {**kept_files(), **table}.items())
    with shown(tmp_path) as origin:
        watched = Watched(opened[0], origin)  # pyright: ignore[reportArgumentType]
        page = watched.go("models.html")
        assert "20,000 of 20,000 models" in page.locator(".count").inner_text()
        ready = page.evaluate("performance.getEntriesByName('ready')[0].startTime")
        took = page.get_by_label("Filter Mixers").evaluate(
            "i => { i.value = 'sliding'; const t = performance.now(); i.dispatchEvent(new Event('input')); "
            "return performance.now() - t; }"
        )
        assert (watched.wrong, ready < 5_000, took < 500) == ([], True, True), (ready, took)
        watched.close()


def kept_files() -> dict[str, str | bytes]:
    """What every page loads."""
    return {p: t for p, t in site.made().files.items() if p.startswith("assets/") or p == "index.html"}
