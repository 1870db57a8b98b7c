"""What `atlas compare` does: models of a snapshot, or local configs, side by side at one context and cache type.

Numbers are those of the fingerprint; what depends on the context or the cache's type is folded again from the
structure. Nothing is shown for a model that was refused: a comparison of guesses helps nobody.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from atlas.derived import Derived
from atlas.numbers import measure
from atlas.numbers.fingerprint import Fingerprint
from pipeline.ask.found import Asking, Found
from pipeline.ask.resolver import resolve
from pipeline.errors import Invalid, Usage
from pipeline.sheets import inspect
from pipeline.sheets.lines import DIM, HEAD, STRONG, WARN, WIDTH, Line, title, wrapped
from pipeline.sheets.sheet import COMPONENTS
from pipeline.sheets.stored import supposed
from pipeline.sheets.verdicts import VERDICTS
from pipeline.text import markdown, shorten, terminal
from pipeline.units import binary, scaled

LABEL = 24
ABREAST = 4
"""Models in one table of 80 columns; further ones follow in tables of their own."""

MARK = "≠"


class Sized(msgspec.Struct, frozen=True, kw_only=True):
    """What depends on the context and on the type of the cache; null for an encoder, which keeps no cache."""

    kv_bytes_per_token: int | None = None
    state_bytes: int | None = None
    attention_flops_per_token: int | None = None
    decode_bytes_per_token: int | None = None


class Subject(msgspec.Struct, frozen=True):
    """One model of the comparison: its name, where its config comes from, and its numbers."""

    name: str
    source: str
    row: Fingerprint
    sized: Sized
    derived: Derived


class Compared(msgspec.Struct, frozen=True):
    """The models, the context in tokens, and the type of the cache."""

    subjects: tuple[Subject, ...]
    at: int
    dtype: str
    weights: str | None = None  # a form that the files are supposed to have


def compare(
    asking: Asking, wanted: Sequence[str], at: int, dtype: str, width: float, weights: str | None = None
) -> Compared:
    """The models that the words mean, each by any name that names one.

    Raises:
        Usage: fewer than two models, or a folder of several configs.
        NotFound: no such model, or no snapshot.
        Invalid: a model was refused.
        Upstream: the Hub has to be asked and does not answer.
    """
    if len(wanted) < 2:
        raise Usage("one model is nothing to compare: name two or more (atlas show has one model's sheet)")
    return Compared(tuple(_subject(resolve(each, asking), at, width) for each in wanted), at, dtype, weights)


def _subject(found: Found, at: int, width: float) -> Subject:
    name, derived = found.title, found.derived
    if found.adapter is not None:
        base = found.adapter.base_model or "its base"
        raise Invalid(f"{terminal(name)} is an adapter and has no cache or shape of its own: compare {terminal(base)}")
    if derived.model is None:
        f = derived.fingerprint
        raise Invalid(f"{terminal(name)} cannot be compared, it is {f.verdict} ({f.refusal_kind}): {f.refusal_reason}")
    return Subject(name, found.source, derived.fingerprint, _sized(derived, at, width), derived)


def _sized(derived: Derived, at: int, width: float) -> Sized:
    if derived.model is None or derived.fingerprint.kv_bytes_4k is None:
        return Sized()
    return Sized(
        kv_bytes_per_token=math.ceil(measure.kv_bytes_per_token(derived.model, width)),
        state_bytes=math.ceil(measure.kv_bytes(derived.model, at, width)),
        attention_flops_per_token=measure.attention_flops(derived.model, at),
        decode_bytes_per_token=math.ceil(measure.decode_bytes(derived.model, at, width)),
    )


Show = Callable[[Any], str]
"""A value that is not null, in few characters."""

Fact = tuple[str, Show, list[Any]]
"""A label, how its values are shown, and one value a model."""


def facts(c: Compared) -> Iterator[tuple[str, list[Fact]]]:
    """The sections of the table; facts that apply to none of the models are left out."""
    rows = [s.row for s in c.subjects]
    at = tokens(c.at)
    yield "Shape", _applying(_shape(rows))
    yield "Weights", _applying(_weights(rows))
    if c.weights is not None:
        sizes = [supposed(s.derived, c.weights).bytes for s in c.subjects]
        yield f"Stored as {c.weights}, hypothetical", _applying([("tensor bytes", binary, list(sizes))])
    yield "Computation, where it differs", _computation(c)
    yield f"One sequence, cache at {c.dtype}", _applying(_state(c, at))
    yield "One token, weights at bf16", _applying(_cost(c, at))
    yield "Several GPUs, and a batch", _applying(_parallel(rows))
    yield "What else differs", _rest(rows)


def _computation(c: Compared) -> list[Fact]:
    """Epsilons, scales, pairings and the like that are not the same for all."""
    found = inspect.other_constants([s.derived for s in c.subjects])
    return [(name.replace("_", " "), _brief, list(values)) for name, values in found.items()]


def _brief(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


_ELSEWHERE = (
    "repo_id", "revision", "release_date", "created_at", "model_type", "design_id", "doubt", "n_layers",
    "layer_pattern", "d_model", "vocab_size", "attention_kind", "n_q_heads", "n_kv_heads", "head_dim", "sliding_window",
    "d_ff", "activation", "is_moe", "experts_per_token", "n_routed_experts", "n_shared_experts", "moe_d_ff",
    "norm_class", "norm_placement", "position", "max_context", "dtype", "quant_method", "has_towers", "tp_degrees",
)  # fmt: skip
_FOLLOWING = (
    "params_", "share_", "kv_", "index_", "state_b", "growth_", "flops_", "attention_flops", "prefill_", "decode_",
    "weight_bytes", "experts_touched", "dispatch_", "combine_", "tp_alignment", "cross_", "source_", "draft_",
)  # fmt: skip
"""Columns that the sections above show, or whose difference follows from what they show."""


def _rest(rows: list[Fingerprint]) -> list[Fact]:
    """Every other column that is not the same for all; of one that is a map, the entries that differ."""
    found: list[Fact] = []
    for name in Fingerprint.__struct_fields__:
        values = [getattr(r, name) for r in rows]
        if name in _ELSEWHERE or name.startswith(_FOLLOWING) or not _differs(values):
            continue
        if all(isinstance(v, dict | None) for v in values):
            maps: list[dict[str, Any]] = [v or {} for v in values]
            keys = dict.fromkeys(k for m in maps for k in m)
            entries = [(k, [m.get(k) for m in maps]) for k in keys]
            found += [(f"{_words(name)}: {k}", _brief, each) for k, each in entries if _differs(each)]
        else:
            found.append((_words(name), _brief, values))
    return found


def _words(name: str) -> str:
    return name.removeprefix("is_").removeprefix("has_").removeprefix("n_").replace("_", " ")


def same_design(c: Compared) -> bool:
    """Whether all models have one design and yet compute something else."""
    one = len({s.row.design_id for s in c.subjects}) == 1
    return one and bool(inspect.other_constants([s.derived for s in c.subjects]))


def _applying(found: list[Fact]) -> list[Fact]:
    return [f for f in found if any(v is not None for v in f[2])]


def _column(rows: list[Fingerprint], label: str, name: str, show: Show = str) -> Fact:
    return label, show, [getattr(r, name) for r in rows]


def _shape(rows: list[Fingerprint]) -> list[Fact]:
    return [
        *(_column(rows, label, name) for label, name in (("family", "model_type"), ("design", "design_id"))),
        _column(rows, "layers", "n_layers"),
        _column(rows, "layer pattern", "layer_pattern"),
        _column(rows, "width", "d_model", _count),
        _column(rows, "vocabulary", "vocab_size", _count),
        _column(rows, "attention", "attention_kind"),
        _column(rows, "query heads", "n_q_heads"),
        _column(rows, "KV heads", "n_kv_heads"),
        _column(rows, "head width", "head_dim"),
        _column(rows, "window", "sliding_window", _count),
        _column(rows, "dense ffn width", "d_ff", _count),
        _column(rows, "activation", "activation"),
        ("experts", str, [_experts(r) for r in rows]),
        _column(rows, "expert width", "moe_d_ff", _count),
        ("norm", str, [f"{r.norm_class}, {r.norm_placement}" for r in rows]),
        _column(rows, "position", "position"),
        _column(rows, "context stated", "max_context", _count),
    ]


def _experts(row: Fingerprint) -> str | None:
    if not row.is_moe:
        return None
    return f"{row.experts_per_token} of {row.n_routed_experts}" + (
        f" + {row.n_shared_experts}" if row.n_shared_experts else ""
    )


def _weights(rows: list[Fingerprint]) -> list[Fact]:
    parts = [_column(rows, f"  {label}", f"params_{key}", _count) for key, label in COMPONENTS.items()]
    return [
        _column(rows, "parameters", "params_total", _count),
        *(fact for fact in parts if any(fact[2])),
        _column(rows, "one token uses", "params_active", _count),
        _column(rows, "  and multiplies by", "params_active_compute", _count),
        _column(rows, "drafting (MTP) layers", "params_mtp", _count),
        ("towers, projectors", str, [_towers(r) for r in rows]),
        _column(rows, "bytes at bf16", "weight_bytes_bf16", binary),
        ("stored type", str, [_stored(r) for r in rows]),
        _column(rows, "bytes as stored", "weight_bytes_checkpoint", binary),
    ]


def _towers(row: Fingerprint) -> str | None:
    if not row.has_towers:
        return None
    return "there, not counted" if row.params_towers is None else f"{row.params_towers:,}"


def _stored(row: Fingerprint) -> str | None:
    return ", ".join(x for x in (row.dtype, row.quant_method) if x) or None


def _state(c: Compared, at: str) -> list[Fact]:
    constant = _column([s.row for s in c.subjects], "bytes of fixed size", "state_bytes_constant", _count)
    rows = [s.row for s in c.subjects]
    index = _column(rows, "+ index, each token", "index_bytes_per_token", _count)
    return [
        _sizes(c, "bytes a token adds", "kv_bytes_per_token", _count),
        *([index] if any(index[2]) else []),
        *([constant] if any(constant[2]) else []),
        _sizes(c, f"at {at}", "state_bytes", binary),
    ]


def _cost(c: Compared, at: str) -> list[Fact]:
    return [
        _column([s.row for s in c.subjects], "FLOPs", "flops_per_token", scaled),
        _sizes(c, f"+ looking back at {at}", "attention_flops_per_token", scaled),
        _sizes(c, f"decode reads at {at}", "decode_bytes_per_token", binary),
    ]


def _parallel(rows: list[Fingerprint]) -> list[Fact]:
    """Tensor-parallel degrees, what a rank of eight holds, experts in a batch, bytes on a network."""
    degrees = [
        (f"TP {t}", str, [None if r.tp_degrees is None else r.tp_degrees[t] for r in rows])
        for t in ("2", "4", "8", "16")
    ]
    return [
        *degrees,
        _column(rows, "weights a rank, TP 8", "params_rank_tp8", _count),
        _column(rows, "cache B/token, TP 8", "kv_bytes_per_token_rank_tp8", lambda n: f"{n:,.0f}"),
        _column(rows, "experts touched by 64", "experts_touched_b64", lambda n: f"{n:,.1f}"),
        _column(rows, "step of 64 reads", "decode_weight_bytes_b64", binary),
        _column(rows, "sent to experts, token", "dispatch_bytes_per_token", binary),
    ]


def _sizes(c: Compared, label: str, name: str, show: Show) -> Fact:
    return label, show, [getattr(s.sized, name) for s in c.subjects]


def _count(n: int) -> str:
    return f"{n:,}"


def tokens(n: int) -> str:
    """A context in the words of --at: 128K, 1M, or the number."""
    for size, unit in ((1024 * 1024, "M"), (1024, "K")):
        if n % size == 0:
            return f"{n // size}{unit}"
    return f"{n:,}"


def _differs(values: Sequence[object]) -> bool:
    return any(v != values[0] for v in values)


def table(c: Compared) -> Iterator[Line]:
    """The comparison for people, in 80 columns."""
    yield from _legend(c)
    many = len(c.subjects)
    abreast = math.ceil(many / math.ceil(many / ABREAST))
    for start in range(0, many, abreast):
        yield from _abreast(c, slice(start, start + abreast))
    yield from _notes(c)


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else str(i + 1)


def _legend(c: Compared) -> Iterator[Line]:
    for i, s in enumerate(c.subjects):
        yield [(f"{_letter(i)}  ", HEAD), (shorten(terminal(s.name), WIDTH - 3), STRONG)]
        yield from wrapped(terminal(f"{VERDICTS[s.row.verdict]}; {s.source}"), 3, DIM)
    yield []


def _abreast(c: Compared, shown: slice) -> Iterator[Line]:
    subjects = c.subjects[shown]
    each = (WIDTH - LABEL - 2) // len(subjects)
    first = shown.start
    heads = [f"{_letter(first + i)} {terminal(s.name.rpartition('/')[2])}" for i, s in enumerate(subjects)]
    for cells in _stacked(heads, each):
        yield [(" " * (LABEL + 2), ""), ("".join(cells), HEAD)]
    for section, found in facts(c):
        if not found:
            continue
        yield title(section)
        tight = any(len(_cell(_count, v)) >= each for _, show, values in found if show is _count for v in values[shown])
        for label, show, values in found:
            texts = _texts(scaled if show is _count and tight else show, values)
            yield from _row(label, texts[shown], each, differs=_differs(values))
        yield []


def _texts(show: Show, values: list[Any]) -> list[str]:
    """The values as text; where different ones would look alike, to the last digit."""
    made = [_cell(show, v) for v in values]
    if _differs(values) and not _differs(made):
        return [_cell(lambda n: f"{n:,}" if isinstance(n, int | float) else str(n), v) for v in values]
    return made


def _stacked(texts: Sequence[str], width: int) -> Iterator[list[str]]:
    """Texts in columns, over as many lines as the longest needs: nothing is cut."""
    pieces = [textwrap.wrap(t, width - 1, break_on_hyphens=False) or [""] for t in texts]
    for line in itertools.zip_longest(*pieces, fillvalue=""):
        yield [piece.rjust(width) for piece in line]


def _row(label: str, texts: Sequence[str], each: int, *, differs: bool) -> Iterator[Line]:
    labels = textwrap.wrap(terminal(label), LABEL - 1, subsequent_indent="  ") or [""]
    style = STRONG if differs else ""
    for i, (said, cells) in enumerate(itertools.zip_longest(labels, _stacked(texts, each))):
        line = "".join(cells) if cells else ""
        mark = MARK if differs and i == 0 else " "
        yield [(f"{mark} ", WARN), (f"{said or '':<{LABEL}}", DIM), (line, style)]


def _cell(show: Show, value: object) -> str:
    return "-" if value is None else terminal(show(value))


def _notes(c: Compared) -> Iterator[Line]:
    if same_design(c):
        yield from wrapped(SAME, 0, WARN)
    yield from wrapped(f"{MARK} marks what differs. {_SIZES}", 0, DIM)
    for s in beyond(c):
        yield from wrapped(_less(terminal(s.name), s, c), 0, WARN)


SAME = "One design, another computation: the constants above differ, and a model that takes the other's is wrong."


def _less(name: str, s: Subject, c: Compared) -> str:
    return f"{name} states a context of {s.row.max_context:,} tokens, less than {c.at:,}."


_SIZES = "Sizes are logical bytes of one sequence: no pages, padding or engine's reserve; a cache's scales not counted."


def beyond(c: Compared) -> list[Subject]:
    """Models whose config states less context than the comparison is at."""
    return [s for s in c.subjects if s.row.max_context is not None and s.row.max_context < c.at]


def as_markdown(c: Compared) -> Iterator[str]:
    """One Markdown table, rows that differ marked in their first cell; under it, contexts beyond the stated ones."""
    yield f"| | at {tokens(c.at)}, cache at {c.dtype} | {' | '.join(markdown(s.name) for s in c.subjects)} |"
    yield "|---|---|" + "---:|" * len(c.subjects)
    for _, found in facts(c):
        for label, show, values in found:
            cells = ["-" if v is None else markdown(show(v)) for v in values]
            yield f"| {MARK if _differs(values) else ''} | {label.strip()} | {' | '.join(cells)} |"
    if same_design(c):
        yield from ("", SAME)
    for s in beyond(c):
        yield from ("", _less(markdown(s.name), s, c))


def as_object(c: Compared) -> dict[str, Any]:
    """For programs: every fingerprint whole, what depends on context and type under `at`, and columns that differ."""
    models = [
        msgspec.to_builtins(s.row) | {"name": s.name, "source": s.source, "at": msgspec.to_builtins(s.sized)}
        for s in c.subjects
    ]
    columns = [k for k in Fingerprint.__struct_fields__ if k not in ("repo_id", "revision")]
    differing = [k for k in columns if _differs([getattr(s.row, k) for s in c.subjects])]
    constants = inspect.other_constants([s.derived for s in c.subjects])
    made = {"context": c.at, "cache_dtype": c.dtype, "models": models, "differing": differing}
    return made | {"constants": constants, "same_design": len({s.row.design_id for s in c.subjects}) == 1}
