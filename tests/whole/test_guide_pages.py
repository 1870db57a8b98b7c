"""The guide as built from the catalogue: the figures of the seeds are on it, its links resolve, and its form holds."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import duckdb
import guide
import pytest
from markdown_it import MarkdownIt

from pipeline.guide import numerals, page, queries, render

pytestmark = pytest.mark.slow

MODULES = tuple(m.slug for m in page.curriculum(page.folder()).values())
OUTWARD = re.compile(r"https://(?:arxiv\.org/abs/\d{4}\.\d{5}|huggingface\.co/[\w.-]+/[\w.-]+)", re.ASCII)
SIX = ("Llama-3.1-405B", "DeepSeek-V3", "Qwen3-235B-A22B", "gpt-oss-120b", "Kimi-K2-Instruct", "gemma-3-27b-it")


def pages() -> dict[str, str]:
    """Every Markdown file of the guide."""
    return {path: text for path, text in guide.built().files.items() if path.endswith(".md")}


def test_every_page_is_built_from_the_catalogue() -> None:
    """No exemplar of a page is missing or refused."""
    assert guide.built().failed == ()
    assert {f"{m}.md" for m in MODULES} | {"README.md", "glossary.md", "data-dictionary.md"} <= set(pages())


@pytest.mark.soak
def test_two_builds_are_the_same_bytes() -> None:
    """Nothing of the clock, a hash or a thread gets into a file; `make check` holds the committed guide to it."""
    assert render.rendered(guide.snapshot_file()).files == guide.built().files


def test_the_dense_baseline_has_the_figures_of_its_seed() -> None:
    """Seed 000: 70 % FFN, 17 % attention, 131,072 B a token, 16 GiB at 128K; 8,030,261,248 weights."""
    text = guide.text("01-dense-baseline")
    for said in ("8,030,261,248", "**70.2 %**", "**16.7 %**", "**13.1 %**", "**131,072 B**", "**16 GiB**"):
        assert said in text
    record = guide.column(guide.table("01-dense-baseline", "Fact", "Value"), "Fact", "Value")
    assert (record["query heads"], record["key and value heads"], record["layers"]) == ("32", "8", "32")


def test_the_textbook_decoder_has_the_figures_of_its_seed() -> None:
    """Seed 002: d 4096, 32 layers, 50k words, d_ff 4d: 6.9B; FFN 63 %, attention 31 %, 3 % and 3 %; 12 L d^2 = 6.4B."""
    said = "Of its 6.9B weights, 62.7 % are FFN, 31.3 % attention, 3.0 % embedding and 3.0 % unembedding."
    assert said in guide.text("01-dense-baseline")
    assert "6.4B in all layers" in guide.text("01-dense-baseline")


def test_toy_caches_are_those_of_the_seeds() -> None:
    """Seed 003: 4 GiB, 1 GiB, 128 MiB; 135.3M a layer. Seed 004: 67.5, 22.5, 7.5 KiB; 884,736 with three KV heads."""
    rows = guide.table("03-gqa-and-mqa", "Config", "Held")
    assert [r["Held"] for r in rows[:3]] == ["4 GiB", "1 GiB", "128 MiB"]
    assert {r["FFN weights a layer"] for r in rows[:3]} == {"135,266,304"}
    assert [r["Cache per token"] for r in rows[3:]] == ["67.5 KiB", "22.5 KiB", "7.5 KiB"]
    assert [r["Attention weights a layer"] for r in rows if r["Config"] == "576 wide, GQA"] == ["884,736"]


def test_mha_counterfactuals_multiply_the_cache_by_the_group() -> None:
    """Llama-3.1-8B has groups of 4, Qwen3-235B of 16: as MHA 4 x 128 KiB = 512 KiB and 16 x 188 KiB = 3,008 KiB."""
    rows = guide.table("03-gqa-and-mqa", "Model", "Form", "Against published")
    found = {(r["Model"], r["Form"]): (r["Cache per token"], r["Against published"]) for r in rows}
    assert found["Llama-3.1-8B", "as MHA"] == ("512 KiB", "4×")
    assert found["Qwen3-235B-A22B", "as MHA"] == ("3,008 KiB", "16×")


def test_the_latent_is_worked_out() -> None:
    """(512 + 64) x 61 x 2 = 70,272 B; as 8 KV heads of 128: 2 x 8 x 128 x 61 x 2 = 249,856 B = 244 KiB, 3.6 times."""
    text = guide.text("04-mla")
    assert "(512 latent + 64 rotary) elements × 61 layers × 2 bytes = **70,272 B** = 68.6 KiB per token" in text
    rows = guide.table("04-mla", "Model", "Form", "Against published")
    gqa = next(r for r in rows if (r["Model"], r["Form"]) == ("DeepSeek-V3", "GQA-8"))
    assert (gqa["Cache per token"], gqa["Against published"]) == ("244 KiB", "3.6×")
    kept = next(r for r in rows if r["Form"].startswith("MLA, keys and values") and r["Model"] == "DeepSeek-V3")
    assert kept["Cache per token"] == "4,880 KiB"  # 128 heads x (192 + 128) x 61 layers x 2 bytes = 4,997,120


def test_the_expert_toy_has_the_figures_of_its_seed() -> None:
    """Seed 004: 288.8M on the path of a token, 1,874.3M resident, 6.49 times; without norms and router."""
    text = guide.text("07-mixture-of-experts")
    assert "**288.8M** on a token's path and **1,874.3M** resident, 6.5× as many" in text


def test_experts_are_counted_as_published() -> None:
    """Mixtral 8x7B: 46.7B and 12.9B (its paper: 47B and 13B); DeepSeek-V3 671.0B and 37.6B."""
    rows = {r["Model"]: r for r in guide.table("07-mixture-of-experts", "Model", "Total", "Active", "Resident at bf16")}
    assert (rows["Mixtral-8x7B-v0.1"]["Total"], rows["Mixtral-8x7B-v0.1"]["Active"]) == ("46.7B", "12.9B")
    assert (rows["DeepSeek-V3"]["Total"], rows["DeepSeek-V3"]["Active"]) == ("671.0B", "37.6B")


def test_the_six_caches_are_those_of_the_seed() -> None:
    """Seed 001, output of its script."""
    rows = guide.table("13-frontier-case-studies", "Model", "Per token, windows full")
    found = {r["Model"]: (r["Per token, windows full"], r["At 128K tokens"]) for r in rows}
    assert found == {
        "Llama-3.1-405B": ("504 KiB", "63.0 GiB"),
        "DeepSeek-V3": ("68.6 KiB", "8.6 GiB"),
        "Qwen3-235B-A22B": ("188 KiB", "23.5 GiB"),
        "gpt-oss-120b": ("36 KiB", "4.5 GiB"),
        "Kimi-K2-Instruct": ("68.6 KiB", "8.6 GiB"),
        "gemma-3-27b-it": ("80 KiB", "10.4 GiB"),
    }
    assert "were every layer global, **62 GiB**" in guide.text("13-frontier-case-studies")


def test_training_and_inference_compute_are_those_of_the_seed() -> None:
    """Seed 001: 6ND and 2N of the reported N; beside it ours, by params_active."""
    rows = {r["Model"]: r for r in guide.table("13-frontier-case-studies", "Model", "C reported N")}
    assert [rows[m]["C reported N"] for m in SIX] == [
        "3.8 × 10²⁵",
        "3.3 × 10²⁴",
        "4.8 × 10²⁴",
        "—",
        "3.0 × 10²⁴",
        "2.3 × 10²⁴",
    ]
    assert [rows[m]["2N reported"] for m in SIX[:4]] == ["810 GFLOPs", "74 GFLOPs", "44 GFLOPs", "10 GFLOPs"]
    assert [rows[m]["2N ours, N active"] for m in SIX[:4]] == ["812 GFLOPs", "75 GFLOPs", "44 GFLOPs", "11 GFLOPs"]
    assert [rows[m]["2N ours, N multiplied"] for m in SIX[:4]] == ["807 GFLOPs", "73 GFLOPs", "43 GFLOPs", "10 GFLOPs"]
    assert rows["Kimi-K2-Instruct"]["C ours"] == "3.06 × 10²⁴"


def test_the_comparison_is_that_of_the_seed() -> None:
    """Seed 001, comparison table, where configs state it."""
    rows = {r[""]: r for r in guide.table("13-frontier-case-studies", "", "Llama-3.1-405B", "Tier")}
    expected = {
        "type": ("dense", "MoE", "MoE", "MoE", "MoE", "dense"),
        "layers": ("126", "61", "94", "36", "61", "62"),
        "d_model": ("16,384", "7,168", "4,096", "2,880", "7,168", "5,376"),
        "query heads / KV heads": ("128 / 8", "128 / latent", "64 / 4", "64 / 8", "64 / latent", "32 / 16"),
        "head size": ("128", "128 + 64 rotary", "128", "64", "128 + 64 rotary", "128"),
        "expert width": ("—", "2,048", "1,536", "2,880", "2,048", "—"),
        "experts": (
            "—",
            "256 + 1 shared, top-8",
            "128, none shared, top-8",
            "128, none shared, top-4",
            "384 + 1 shared, top-8",
            "—",
        ),
        "dense FFN width": ("53,248", "18,432 (first 3)", "—", "—", "18,432 (first 1)", "21,504"),
        "training tokens": ("15.6T", "14.8T", "36T", "—", "15.5T", "14T"),
        "total / active, reported": (
            "405B / 405B",
            "671B / 37B",
            "235B / 22B",
            "117B / 5.1B",
            "1.04T / 32B",
            "27B / 27B",
        ),
        "RoPE base": ("500,000", "10,000", "1,000,000", "150,000", "50,000", "1,000,000"),
    }
    assert {fact: tuple(rows[fact][m] for m in SIX) for fact in expected} == expected
    assert rows["global / windowed layers"]["gemma-3-27b-it"] == "10 / 52 (window 1,024)"
    assert rows["global / windowed layers"]["gpt-oss-120b"] == "18 / 18 (window 128)"


def test_parameter_counts_are_rebuilt_as_in_the_seed() -> None:
    """Seed 001, the tables of its worked example: component, weights and active weights."""
    llama, qwen = (t for t in guide.tables(guide.text("13-frontier-case-studies")) if "Calculation" in t[0])
    assert [r["In short"] for r in llama][:5] == ["570.4M", "2,617.2M", "401.6B", "4.2B", "405.8B"]
    assert [r["Component"] for r in qwen][:3] == ["attention per layer", "one expert", "experts per layer"]
    text = guide.text("13-frontier-case-studies")
    for stored, active in (
        ("71.3M", "71.3M"),
        ("2,415.9M", "151.0M"),
        ("233.8B", "20.9B"),
        ("1.2B", "1.2B"),
        ("235.1B", "22.2B"),
    ):
        assert re.search(rf"\| {re.escape(stored)} \| [\d,]+ \| {re.escape(active)} \|", text)


def test_design_choices_name_those_the_seed_names() -> None:
    """Seed 001, table of design choices, where configs can tell."""
    who = guide.column(guide.table("13-frontier-case-studies", "Choice", "Of the six"), "Choice", "Of the six")
    assert who["dense FFN"] == "Llama-3.1-405B, gemma-3-27b-it"
    assert (
        who["fine-grained MoE (64 experts or more)"] == "DeepSeek-V3, Qwen3-235B-A22B, gpt-oss-120b, Kimi-K2-Instruct"
    )
    assert who["shared expert"] == who["MLA"] == "DeepSeek-V3, Kimi-K2-Instruct"
    assert who["GQA"] == "Llama-3.1-405B, Qwen3-235B-A22B, gpt-oss-120b, gemma-3-27b-it"
    assert who["windowed and global layers by turns"] == "gpt-oss-120b, gemma-3-27b-it"
    assert who["Q/K norm"] == "Qwen3-235B-A22B, gemma-3-27b-it"


def test_the_walked_config_shows_the_trap_of_its_head_size() -> None:
    """Qwen3-0.6B: 28 x 8 x 128 x 2 x 2 = 114,688 B = 112 KiB; dividing 1,024 by 16 heads gives half of it."""
    text = guide.text("14-reading-a-config")
    assert "28 layers × 8 KV heads × 128 × 2 (key and value) × 2 bytes = **114,688 B**" in text
    assert "A tool that divides reports 56 KiB of cache per token; it is 112 KiB." in text


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_the_parts_of_its_anatomy(module: str) -> None:
    """Under the hood, evidence, across the atlas, trade-off, limits, glossary delta, references, queries, a chart."""
    text = guide.text(module)
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert {"The honest trade-off", "Not measured here", "Glossary delta", "References"} <= {
        h.partition(",")[0] for h in heads
    }
    if module != "13-frontier-case-studies":
        assert {"Under the hood", "Fingerprint evidence", "Across the atlas"} <= set(heads)
    assert "<summary>The queries of this page</summary>" in text
    assert "charts/" in text
    if module not in ("00-orientation", "15-how-the-atlas-knows"):
        assert "| Cost | Unit |" in text or "| Efficiency | Unit |" in text


def test_every_link_and_image_resolves() -> None:
    """Relative targets are files of the guide, fragments are places in the page; others are papers or Hub pages."""
    files = set(guide.built().files)
    for path, text in pages().items():
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)):
            file, _, fragment = target.partition("#")
            if target.startswith("https:"):
                assert OUTWARD.fullmatch(target), (path, target)
            elif file:
                parts: list[str] = []
                for part in PurePosixPath(path).parent.joinpath(file).parts:
                    parts = parts[:-1] if part == ".." else [*parts, part]
                assert "/".join(parts) in files, (path, target)
            else:
                assert f'<a id="{fragment}"></a>' in text, (path, target)


def test_no_template_and_no_nothing_is_left_over() -> None:
    """No tag of the template language, no None, no nan, no unfilled parameter outside the listed queries."""
    for path, text in pages().items():
        prose = re.sub(r"```.*?```|`[^`]*`|\{[ie]\}", "", text, flags=re.DOTALL)
        assert not re.search(r"\{\{|\}\}|\{%|%\}|\bNone\b|\bnan\b|\bUndefined\b|\$exemplar", prose), path


def test_every_page_parses_into_whole_tables_and_described_images() -> None:
    """No empty table, equal cells in every row, an alt text for every chart, one first-level heading."""
    parser = MarkdownIt("gfm-like", {"linkify": False})
    for path, text in pages().items():
        tokens = parser.parse(text)
        assert sum(t.type == "heading_open" and t.tag == "h1" for t in tokens) == 1, path
        kinds = [t.type for t in tokens]
        assert kinds.count("table_open") == kinds.count("tbody_open"), path
        images = [c for t in tokens for c in t.children or [] if c.type == "image"]
        assert all(c.content for c in images if "/origin-" not in str(c.attrs["src"])), path


def test_every_table_of_a_module_says_its_query_and_tier() -> None:
    """Behind each table stands a caption; one without a tier gives it in its rows, or is a legend."""
    for module in MODULES:
        captions = re.findall(r"^<sub>(.*)</sub>$", guide.text(module), re.MULTILINE)[:-1]
        without = [c for c in captions if not c.startswith("Tier ")]
        assert all("query [" in c for c in captions)
        assert len(without) <= 1, (module, without)


def test_every_number_of_a_page_has_a_trace(tmp_path: Path) -> None:
    """A page of the guide prints values, and each trace names a query of that page and a value."""
    sources = guide.sources(tmp_path / "pages", "")
    (sources / "p.md").unlink()
    slug = "13-frontier-case-studies"
    (sources / f"{slug}.md").write_bytes((page.folder() / f"{slug}.md").read_bytes())
    each = next(b for b in render.rendered(guide.snapshot_file(), sources=sources).built if b.slug == slug)
    queries = set(re.findall(r'<a id="q-([\w-]+)"></a>', each.files[f"{slug}.md"]))
    assert all(t.query.replace("_", "-") in queries | {"snapshot"} for t in each.traces)
    assert len(each.traces) > 500


@pytest.mark.parametrize("source", page.sources(page.folder()), ids=lambda p: p.slug)
def test_a_page_lists_no_query_that_it_does_not_use(source: page.Page) -> None:
    """The queries below a page are those its numbers come from."""
    used = set(re.findall(r"\brows?\.(\w+)", source.template))
    used |= {"strip", "strip_runs"} if "macros.strip(" in source.template else set()
    used |= {"verdict"} if "macros.verdict(" in source.template else set()
    assert set(source.queries) - used == set()


def test_every_heading_stands_alone() -> None:
    """A blank line is before and after each heading, so that it is one wherever it is rendered."""
    for path, text in pages().items():
        lines = re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines()
        heads = [i for i, line in enumerate(lines) if line.startswith("#")]
        assert all(not lines[i - 1] and not lines[i + 1] for i in heads), path


def test_every_line_below_a_table_is_its_caption() -> None:
    """A table of a query ends with a blank line and its caption; nothing runs into it."""
    for path, text in pages().items():
        for end in re.finditer(r"^\|.*\|\n(?!\|)(.*)\n(.*)$", text, re.MULTILINE):
            assert end[1] == "", (path, end[0])


def test_dated_designs_and_those_without_a_date_are_all_of_them() -> None:
    """The bars of the years and the number that is left out add up to the designs that have an FFN of either kind."""
    rows = guide.table("01-dense-baseline", "Year", "Choice", "Designs")
    left = re.search(r"(\d+) designs? without a known date", guide.text("01-dense-baseline"))
    shown = sum(int(r["Designs"]) for r in rows) + (int(left[1]) if left else 0)
    with duckdb.connect(str(guide.snapshot_file()), read_only=True) as con:
        every = con.execute("SELECT count(DISTINCT design_id) FROM fingerprints WHERE is_gated_ffn IS NOT NULL")
        assert every.fetchall() == [(shown,)]


def test_latent_attention_saves_weights_in_its_queries_alone() -> None:
    """A layer of DeepSeek-V3: queries go through a low rank, keys and values through a latent.

    7168 x 1536 + 1536 x 24576 = 48.8M against 7168 x 128 x 128 = 117.4M; 7168 x 576 + 512 x 32768 = 20.9M against
    2 x 7168 x 1024 = 14.7M.
    """
    text = guide.text("04-mla")
    assert "per layer 48.8M through their low rank, against 117.4M in one matrix" in text
    assert "Keys and values cost more with the latent, 20.9M against 14.7M" in text


def test_the_exchange_of_the_latent_leaves_the_rest_as_it_is() -> None:
    """Experts and everything else as published: all components but attention are the same in the counterfactual."""
    with queries.opened(guide.snapshot_file(), page.sources(page.folder())) as opened:
        for part in ("experts_routed", "experts_shared", "router", "ffn_dense", "norm", "embedding", "unembedding"):
            sql = f"SELECT w.params_{part} = f.params_{part} FROM what_if w JOIN fingerprints f ON f.repo_id = w.base"
            found = opened.rows("q", f"{sql} AND w.label = 'GQA-8'", [])
            assert [bool(r["".join(r)]) for r in found] == [True, True], part


@pytest.mark.parametrize("source", page.sources(page.folder()), ids=lambda p: p.slug)
def test_a_template_holds_no_number_of_its_own(source: page.Page) -> None:
    """What has no reason in the list or in the front matter comes from a query, in code, fences and summaries too."""
    numerals.check(source, render.environment(page.folder()))


SEEDS = {
    "00-orientation": ("PFLOPs, whole prompt of 128K tokens", "807.5"),
    "01-dense-baseline": ("8,030,261,248", "70.2 %", "16.7 %", "13.1 %", "131,072 B", "16 GiB", "6.9B", "62.7 %"),
    "02-position": ("2,559,196",),  # 2 pi x 500,000 ^ (126 / 128)
    "03-gqa-and-mqa": ("4 GiB", "1 GiB", "128 MiB", "135,266,304", "67.5 KiB", "22.5 KiB", "7.5 KiB", "884,736"),
    "05-windows": ("384 KiB a token to the last", "**4.5 GiB**", "36 KiB"),
    "06-sparse-attention": ("10.5 GiB", "2.04 GiB", "11.6 GiB", "0.83 GiB", "107.3 KiB", "87.8 KiB"),
    "07-mixture-of-experts": ("288.8M", "1,874.3M", "222", "**13.3 MB**"),
    "08-linear-hybrids": ("47.1 MiB", "74.3 MiB"),
    "09-vocabulary": (
        "4.7M", "18.4M", "28.9M", "73.9M", "116.4M", "54.7 %", "86.2 %", "15 whole blocks", "147.8M", "1.9 %", "7.5 %",
        "1.21 times", "1,562 characters", "8,803", "16,384", "| 17 |", "| 5 |",
    ),
    "10-precision": ("4.25 bits a weight", "60.8 GiB"),
    "11-depth-and-width": ("| 9 |", "| 11.25 |", "| 14 |", "| 19.5 |", "45.2M", "46.2M", "44.1M", "45.3M"),
    "12-beyond-the-decoder": ("684,531,386,000", "671,026,419,200", "13,463,426,304", "85 of 100"),
    "13-frontier-case-studies": ("2.788M", "MuonClip", "FP8 mixed precision", "405.8B", "235.1B", "22.2B"),
    "14-reading-a-config": ("epsilon", "a rotation pairs", "softcaps", "scales", "routing function", "token ids"),
    "15-how-the-atlas-knows": ("after parts that are named",),
}  # fmt: skip
"""Figures of the seeds and of published papers that a reader must be able to find, by page."""


@pytest.mark.parametrize(("slug", "figures"), SEEDS.items(), ids=lambda v: v if isinstance(v, str) else "")
def test_every_figure_of_the_seeds_is_on_its_page(slug: str, figures: tuple[str, ...]) -> None:
    """The rendered Markdown contains each figure as text, with ordinary spaces, so that a search finds it."""
    text = guide.text(slug)
    assert "\u00a0" not in text
    assert [f for f in figures if f not in text] == []


def test_prefill_is_of_the_whole_prompt_in_the_expanded_form() -> None:
    """DeepSeek-V3: 4,997,120 x T (T + 1) / 2 = 42.9 PFLOPs at T = 131,072."""
    rows = guide.table("04-mla", "Model", "Form", "Attention, whole prompt of 128K")
    v3 = next(r for r in rows if (r["Model"], r["Form"]) == ("DeepSeek-V3", "MLA, as published"))
    assert pytest.approx(42.9, abs=0.05) == 4_997_120 * 131_072 * 131_073 / 2 / 1e15
    assert v3["Attention, whole prompt of 128K"] == "43 PFLOPs"


def test_what_engines_reserve_is_counted_by_hand() -> None:
    """Gemma 3 27B at 32K in vLLM: 2,048 + 6 x (17,407 / 16 up + 1) = 8,582 blocks of ten pages of 131,072 B: 10.48 GiB.

    Logical: 10 x 32,768 x 8,192 + 52 x 1,024 x 8,192 B = 2.91 GiB; all 62 layers in full 15.5; llama.cpp: windows of
    1,536 cells, 3.11. A latent on eight ranks takes eight times as much. 51 of 57 logs agree.
    """
    slug = "16-what-engines-reserve"
    text = guide.text(slug)
    assert "8,582 blocks × 10 pages = **10.48 GiB**, against 2.91 GiB" in text
    assert "51 of 57 public start-up logs" in text
    (gemma, *_) = guide.table(slug, "Model", "Logical", "vLLM")
    assert (gemma["llama.cpp"], gemma["SGLang"]) == ("3.11 GiB", "15.50 GiB")
    ranks = {r["Model"]: r for r in guide.table(slug, "Model", "On each")}
    assert (ranks["DeepSeek-V3"]["Times the logical"], ranks["Llama-3.1-8B"]["Times the logical"]) == ("8×", "1×")


def test_the_ledger_is_that_of_the_seed() -> None:
    """Seed 004: blocks of 212 MB, table and cache; 20,000 and 2,000,000 characters, vocabularies of 256 and 8,192.

    30 x (884,736 + 3 x 576 x 1,536) x 2 B = 212.34 MB; 256 x 576 x 2 B = 0.3 MB; 20,000 / 2.032 x 23,040 B = 226.8 MB.
    """
    rows = {(r["Characters"], r["Vocabulary"]): r for r in guide.table("09-vocabulary", "Characters", "Accounted, MB")}
    assert rows["20,000", "256"]["Accounted, MB"] == "439.4"
    assert rows["20,000", "8,192"]["Accounted, MB"] == "331.5"
    assert [rows["20,000", v]["Cache, MB"] for v in ("256", "1,024", "8,192")] == ["226.8", "159.8", "109.7"]
    assert abs(float(rows["2,000,000", "256"]["Accounted, MB"].replace(",", "")) - 22_890.4) < 1
    assert abs(float(rows["2,000,000", "8,192"]["Accounted, MB"].replace(",", "")) - 11_190.7) < 1


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_its_own_number(module: str) -> None:
    """The first heading begins with the number that links to the page have."""
    assert re.search(rf"^# {module[:2]} \S", guide.text(module), re.MULTILINE)


def test_verdicts_follow_the_numbers_beside_them() -> None:
    """Lowers below one, raises above it, by the printed factor; a printed factor of one leaves the cost as it is."""
    checked = 0
    for module in MODULES:
        for rows in guide.tables(guide.text(module)):
            says = next((k for k in rows[0] if k in ("The technique", "A longer context")), None)
            for row in rows if says else ():
                times = float(row["Times"].rstrip("×"))
                assert row[says or ""] == ("lowers" if times < 1 else "raises" if times > 1 else "leaves as it is"), row
                checked += 1
    assert checked >= 6 * 14


def test_every_word_of_a_layer_pattern_is_explained() -> None:
    """The glossary says of each word that any design's pattern has what it is; two joined by a plus are two words."""
    said = re.search(r"\*\*layer pattern\*\*: (.*)", guide.text("00-orientation"))
    assert said
    known = set(re.findall(r"[a-z][a-z\d-]*", said[1]))
    with duckdb.connect(str(guide.snapshot_file()), read_only=True) as con:
        patterns = con.execute("SELECT DISTINCT layer_pattern FROM fingerprints WHERE layer_pattern IS NOT NULL")
        words = {w for (p,) in patterns.fetchall() for w in re.findall(r"[a-z][a-z\d-]+", p)}
    assert len(words) > 15
    assert words - known == set()


def test_a_line_ends_where_the_context_does() -> None:
    """Phi-3-mini-128k states 131,072 tokens and a window of 262,144: 48 GiB at its end, no point and nothing beyond."""
    rows = {r["Tokens"]: r["Phi-3-mini-128k-instruct"] for r in guide.table("05-windows", "Tokens", "gpt-oss-120b")}
    assert (rows["128K"], rows["256K"]) == ("48 GiB", "—")


def test_a_quantized_file_is_held_against_the_whole_of_its_checkpoint() -> None:
    """DeepSeek-V3: 684,489,845,504 weights with its MTP module, at two bytes 1,275.0 GiB; its files store 641.3 GiB."""
    rows = {r["Model"]: r for r in guide.table("10-precision", "Model", "Whole checkpoint", "As stored")}
    row = rows["DeepSeek-V3"]
    assert (row["Whole checkpoint"], row["At bf16"], row["As stored"]) == ("684.5B", "1,275.0 GiB", "641.3 GiB")
    assert row["Stored / bf16"] == "0.503"  # 641.285 / 1,274.962


def test_models_and_what_is_refused_are_counted_apart() -> None:
    """The index counts models that have a design; those that are refused come on top."""
    with duckdb.connect(str(guide.snapshot_file()), read_only=True) as con:
        ((known, refused),) = con.execute(
            "SELECT count(*) FILTER (verdict <> 'refused'), count(*) FILTER (verdict = 'refused') FROM fingerprints"
        ).fetchall()
    assert f"the configs of {known} models of" in guide.text("README")
    assert f"{refused} configs were refused" in guide.text("README")


def test_a_mixture_is_held_against_the_dense_model_of_its_work() -> None:
    """Mixtral 8x7B: 46.7B weights for the work of 12.9B, 3.6 times as many (46,702,792,704 / 12,879,138,816 = 3.63)."""
    tables = guide.tables(guide.text("07-mixture-of-experts"))
    dense = next(t for t in tables if "Only the experts used" in t[0])
    row = next(r for r in dense if r["Cost"] == "Parameters")
    assert (row["Times"], row["The technique"]) == ("3.6×", "raises")


def test_layers_are_counted_without_what_stands_around_them() -> None:
    """Qwen3-32B: 64 x (2 x 5,120 x 8,192 + 2 x 5,120 x 1,024 + 256 + 3 x 5,120 x 25,600 + 2 x 5,120) = 31,206,293,504.

    DeepSeek-V3.2: 61 x (8,192 x 1,536 + 128 x 7,168 + 256 + 64 x 7,168) = 851.5M, without the MTP layer's indexer.
    """
    assert "> 31,206,293,504 weights in 64 layers" in guide.text("11-depth-and-width")
    assert "together are 851.5M weights" in guide.text("06-sparse-attention")
