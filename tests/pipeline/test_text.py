"""Strangers' text on its way to Markdown, terminals, spreadsheets and JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pipeline import text

HOSTILE = [
    "a|b", "<b>x</b>", "`x`", "[a](javascript:alert(1))", "![x](y)", "{{ 7*7 }}", "\x1b[31mred", "=1+1", "1. x", "- x",
    "+ x", "# h", "https://evil.example www.evil.example a@b.example",
    "___", "***", "> q", "a\nb", "&lt;", "<!-- x", "\u202eabc", "==",
    "    code", "|---|", "~~~", "a  \nb", "\\", "\\|", "[x]: y", "$x$", "<https://x.example>",
]  # fmt: skip


def rendered(source: str, preset: str = "gfm-like") -> tuple[list[str], list[str], str]:
    """Block types, inline types and text of a parsed page."""
    blocks = MarkdownIt(preset, {"linkify": False}).parse(source)
    inline = [child for block in blocks for child in block.children or []]
    return [b.type for b in blocks], [c.type for c in inline], "".join(c.content for c in inline)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_markdown_adds_no_node(hostile: str) -> None:
    """Hostile text becomes one paragraph of plain text that reads as the text itself, controls made visible."""
    blocks, inline, content = rendered(text.markdown(hostile))
    assert blocks == ["paragraph_open", "inline", "paragraph_close"]
    assert set(inline) <= {"text", "text_special"}
    assert content == text.terminal(hostile).strip()


@given(st.text(max_size=60).filter(lambda s: text.terminal(s).strip()))
def test_markdown_is_plain_for_any_text(anything: str) -> None:
    """No text at all becomes more than one paragraph of plain text."""
    blocks, inline, _ = rendered(text.markdown(anything))
    assert blocks == ["paragraph_open", "inline", "paragraph_close"]
    assert set(inline) <= {"text", "text_special"}


@given(st.text(max_size=40))
def test_markdown_stays_in_its_cell(anything: str) -> None:
    """In a table, any text stays in its one cell."""
    page = f"| a | b |\n| --- | --- |\n| {text.markdown(anything)} | end |\n"
    blocks, _, _ = rendered(page)
    assert blocks.count("td_open") == 2


def test_ordinary_names_stay_readable() -> None:
    """A usual repository name needs no escape, so generated pages are readable as source."""
    assert text.markdown("meta-llama/Llama-3.1-8B") == "meta-llama/Llama-3.1-8B"


def test_markdown_leaves_no_template_and_no_address() -> None:
    """Template braces are split by escapes, and what GitHub would turn into a link is broken."""
    shown = text.markdown("{{ x }} https://a.example www.a.example b@c.example")
    for dangerous in ("{{", "://", "www.", "b@c"):
        assert dangerous not in shown


@given(st.text())
def test_terminal_obeys_nothing(anything: str) -> None:
    """Whatever comes in, no control, direction or surrogate character goes to the terminal."""
    shown = text.terminal(anything)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0x202A <= ord(c) <= 0x202E for c in shown)
    shown.encode()


def test_terminal_shows_what_it_took_away() -> None:
    """An escape sequence is seen, not obeyed."""
    assert text.terminal("\x1b[31mred\u202e") == "\\x1b[31mred\\u202e"


@pytest.mark.parametrize("formula", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", " =1", "\t=1", "-", "+1 and more"])
def test_csv_runs_no_formula(formula: str) -> None:
    """Text that a spreadsheet would run begins with an apostrophe."""
    assert text.csv_cell(formula).startswith("'")


@pytest.mark.parametrize("plain", ["-5", "+1.5", "-1e9", "llama", "a=b", ""])
def test_csv_leaves_numbers_and_names(plain: str) -> None:
    """Numbers keep their sign and names their look."""
    assert text.csv_cell(plain) == plain


@given(st.text())
def test_json_decodes_to_the_same(anything: str) -> None:
    """Making a JSON line safe for terminals does not change what it says."""
    line = text.json_line(json.dumps(anything, ensure_ascii=False))
    assert json.loads(line) == anything
    assert not any(0x7F <= ord(c) < 0xA0 or 0x202A <= ord(c) <= 0x202E for c in line)


def test_shorten_marks_the_cut() -> None:
    """A cut text ends in an ellipsis and is as long as allowed; a short one is whole."""
    assert text.shorten("abcdef", 4) == "abc…"
    assert text.shorten("abcd", 4) == "abcd"
