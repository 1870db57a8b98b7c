"""The text of a row to start from; what is not known is written as a comment."""

from __future__ import annotations

from atlas.drafting.near import Near
from atlas.families.loader import IRRELEVANT, family
from atlas.families.told import as_value


def row(kind: str | None, cls: str | None, base: Near, strange: tuple[str, ...], where: str | None) -> str:
    """A row that extends the nearest one, with what it takes over from that one without a word."""
    parent, total = family(base.family), base.params_total
    facts = ", ".join(f"{k} = {as_value(v)}" for k, v in sorted(parent.facts.items()))
    lines = [
        f"# {kind or cls or 'a new family'}: say in a sentence what differs from {base.family}.",
        *[f'# The wrapper needs a file of its own: text = {{ key = "{where}", family = "..." }}'] * (where is not None),
        f'extends = "{base.family}"',
        f"class_names = {as_value([cls] if cls else [])}  # and the others that the modelling code exports",
        f"# to be read or reviewed: {', '.join(strange) or 'none'}",
        f"# {base.family}'s, which a list of your own replaces whole:",
        f"# reads = {as_value(sorted(parent.reads))}",
        f"# irrelevant = {as_value(sorted(parent.irrelevant - IRRELEVANT))}",
        "references = []  # the files that were opened",
        "",
        "[defaults]  # what the class takes when a key is absent; unset what it does not read",
        *[f"# {k} = {as_value(v)}  # {base.family}'s, taken here" for k, v in sorted(base.taken.items())],
        "",
        "[facts]  # where they differ",
        f"# {base.family}'s: {facts}",
        "",
        "[[expect]]",
        'repo = "owner/name"',
        f"params_total = {total if total is not None else 0}  # what {base.family} says: put the published total",
        'source = "..."',
    ]
    return "\n".join(lines) + "\n"


def wrapper(kind: str | None, cls: str | None, base: Near, where: str, beside: list[str]) -> str:
    """The file of a wrapper, to start from."""
    lines = [
        f"# {kind or cls or 'a wrapper'}: the language model is the one that {where} names.",
        f'text = {{ key = "{where}", family = "{base.family}" }}',
        f"class_names = {as_value([cls] if cls else [])}",
        f"# keys beside it, to be read or reviewed: {', '.join(beside) or 'none'}",
        "references = []  # the files that were opened",
        "",
        "[outer]",
        "has_towers = true  # where it holds encoders",
        "",
        "[[expect]]",
        'repo = "owner/name"',
        f"params_total = {base.params_total if base.params_total is not None else 0}  # the language model alone",
        'source = "..."  # the published total less what stands beside it',
    ]
    return "\n".join(lines) + "\n"
