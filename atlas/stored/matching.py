"""Lists of modules in settings, as the tools match them: names, beginnings, shell patterns, regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import lru_cache

from atlas.stored.form import Unsaid

_ROOTS = (
    "model.language_model.",
    "language_model.model.",
    "language_model.",
    "model.",
    "thinker.model.",
    "model.text_model.",
)
_LONGEST = 500
Taken = Callable[[str], bool]


def spellings(name: str) -> tuple[str, ...]:
    """What a language model's module may be called, depending on the wrapper and the version that wrote the list."""
    bare = name.removeprefix("language_model.model.").removeprefix("model.language_model.").removeprefix("model.")
    if bare == name or bare.startswith(("visual.", "vision")):
        return (name, f"language_model.{name}", f"model.{name}")
    return (name, *(root + bare for root in _ROOTS), bare)


@lru_cache(maxsize=8192)
def expression(text: str) -> re.Pattern[str]:
    """A regular expression from a settings file. Raises `Unsaid` where it is none, or could run for ever."""
    if len(text) > _LONGEST or re.search(r"\([^()]*[+*][^()]*\)[+*{]", text):
        raise Unsaid("a pattern of the settings is not read: it nests repetitions or is too long")
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise Unsaid(f"a pattern of the settings is no regular expression: {error}") from error


@lru_cache(maxsize=1024)
def _any_of(patterns: tuple[str, ...]) -> Taken:
    """Whether a name fits one of these shell patterns; they are one expression, so that long lists cost little."""
    if not patterns:
        return lambda _: False
    found = re.compile("|".join(translate(p) for p in patterns))
    return lambda name: found.match(name) is not None


def texts(listed: object, what: str) -> list[str]:
    """A list of names from settings; nothing where there is none. Raises `Unsaid` where it is something else."""
    if listed is None:
        return []
    if not isinstance(listed, list) or not all(isinstance(x, str) for x in listed):  # pyright: ignore[reportUnknownVariableType]
        raise Unsaid(f"{what} is no list of names")
    return [str(x) for x in listed]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def exact_or_re(patterns: Iterable[str]) -> Taken:
    """compressed-tensors: a name, or what stands behind `re:` found at the beginning of one."""
    names = {p for p in patterns if not p.startswith("re:")}
    found = [expression(p[3:]) for p in patterns if p.startswith("re:")]
    return lambda name: any(s in names or any(e.match(s) for e in found) for s in spellings(name))


def shell(patterns: Iterable[str]) -> Taken:
    """ModelOpt: a name or a shell pattern; a module below a named one counts as named."""
    plain = {p for p in patterns if "*" not in p and "?" not in p}
    found = _any_of(tuple(p for p in patterns if p not in plain))
    return lambda name: any(_below(s, plain) or found(s) for s in spellings(name))


def _below(name: str, plain: set[str]) -> bool:
    """Whether a name, or one that it stands below, is listed."""
    while name:
        if name in plain:
            return True
        name = name.rpartition(".")[0]
    return False


def ends(patterns: Iterable[str]) -> Taken:
    """transformers: a name or its beginning, or what a name ends with; a star stands for anything between."""
    listed = list(patterns)
    plain = {p for p in listed if "*" not in p}
    tails = tuple(p for p in plain if "." not in p)
    stars = _any_of(tuple(p + tail for p in listed if "*" in p for tail in ("", ".*")))
    return lambda name: any(
        _below(s, plain) or (bool(tails) and s.endswith(tails)) or stars(s) for s in spellings(name)
    )


def skipped(patterns: Iterable[str], version: tuple[int, int] | None, *, wrapped: bool, tail: str = "") -> Taken:
    """What transformers leaves as it is when it quantizes a model itself (`should_convert_module`).

    Up to version 4 a name that stands inside a module's, up to a dot; from 5 on an expression from the start of the
    name the module has in memory (`wrapped`: inside a wrapper), or the end of it. `tail` follows every module's name
    where whole parameters are asked about.
    """
    listed = list(patterns)
    if version is None or version[0] < _NEW[0]:
        return lambda name: any(p + "." in s + "." for p in listed for s in spellings(name))
    found = [(expression(f"(?:{p}){_BOUNDARY}"), expression(p), p) for p in listed]

    def taken(name: str) -> bool:
        full = in_memory(name, wrapped=wrapped) + tail
        new = any(e.match(full) or full.endswith(p) for e, _, p in found)
        old = any(e.match(full) or full.endswith(p) for _, e, p in found)
        if new != old and version < _NEW:
            raise Unsaid(f"whether {name[:80]!r} is left as it was depends on the version that wrote it")
        return new

    return taken


_NEW = (5, 24)
_BOUNDARY = r"(?:(?<=\.)|(?=\.|$))"


def in_memory(name: str, *, wrapped: bool) -> str:
    """What transformers 5 calls a module in memory, whatever the files call it."""
    if not wrapped or name.startswith("lm_head") or name.endswith(".lm_head"):
        return name.removeprefix("language_model.") if wrapped else name
    for root in _ROOTS[:3]:
        if name.startswith(root):
            return "model.language_model." + name.removeprefix(root)
    bare = name.removeprefix("model.")
    is_text = bare.startswith(("layers.", "embed_tokens", "norm"))
    return ("model.language_model." if is_text else "model.") + bare


def inside(patterns: Iterable[str]) -> Taken:
    """AutoAWQ and bitsandbytes: what stands anywhere in a name."""
    listed = list(patterns)
    return lambda name: any(p in s for p in listed for s in spellings(name))
