"""Hostile text made harmless: names and values of strangers go to terminals, Markdown and spreadsheets.

Each function says where its result is safe. None of them is reversible, and none is needed where data stays data (the
snapshot, JSON).
"""

from __future__ import annotations

import re

_INVISIBLE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL and C1 controls, the escape character among them
    "\u00ad\u061c\u180e"  # soft hyphen, Arabic letter mark, Mongolian vowel separator
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, line and paragraph separators, bidirectional controls
    "\ufeff\ufff9-\ufffb"
    "\ud800-\udfff"  # lone surrogates cannot be written as UTF-8
    "\U000e0000-\U000e0fff"  # tags and variation selectors
    "]"
)
_MARKDOWN = re.compile(r"[\\`*_{}\[\]|~$]")
_BLOCK_START = re.compile(r"^(\s*)([-+#=:]|\d{1,9}(?=[.)](?:\s|$)))")
_AUTOLINK = re.compile(r"(?i)(?<=https)://|(?<=http)://|(?<=ftp)://|(?<=mailto):|(?<=xmpp):|(?<=www)\.|@")
_FORMULA = ("=", "+", "-", "@")
_ESCAPED_IN_JSON = re.compile("[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_NUMBER = re.compile(r"[+-]?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?")


def terminal(text: str) -> str:
    r"""One line without control, zero-width or bidirectional characters: each becomes a visible `\x1b`-like escape."""
    return _INVISIBLE.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def markdown(text: str) -> str:
    """Inline Markdown that renders as exactly this text: no link, HTML, code, emphasis, cell or template."""
    quiet = terminal(text).strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = _MARKDOWN.sub(r"\\\g<0>", quiet)
    unlinked = _AUTOLINK.sub(lambda m: f"&#{ord(m.group()[0])};{m.group()[1:]}", escaped)
    return _BLOCK_START.sub(_inert_start, unlinked)


def _inert_start(found: re.Match[str]) -> str:
    """A list, heading or rule begins only at the start of a line: its first character is written as an entity there."""
    space, mark = found.groups()
    return f"{space}&#{ord(mark[0])};{mark[1:]}"


def csv_cell(text: str) -> str:
    """Text of a CSV cell that no spreadsheet takes for a formula; quoting is the CSV writer's work.

    Numbers keep their sign: only text that is not a number and starts like a formula gets a leading apostrophe.
    """
    quiet = _INVISIBLE.sub(lambda m: m.group() if m.group() in "\n\t" else _visible(m), text)
    starts_formula = quiet.lstrip().startswith(_FORMULA) or quiet.startswith(("\t", "\n"))
    return f"'{quiet}" if starts_formula and not _NUMBER.fullmatch(quiet) else quiet


def json_line(encoded: str) -> str:
    """Encoded JSON whose strings hold no character that a terminal obeys; it still decodes to the same values."""
    if encoded.isascii() and "\x7f" not in encoded:  # as nearly all are, and two looks cost less than a search
        return encoded
    return _ESCAPED_IN_JSON.sub(lambda m: f"\\u{ord(m.group()):04x}", encoded)


def shorten(text: str, width: int) -> str:
    """At most `width` characters, the last an ellipsis where some were left out."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
