"""What `atlas compare` does: models of a snapshot, or local configs, side by side at one context and cache type.

Numbers are those of the fingerprint; what depends on the context or the cache's type is folded again from the
structure. Nothing is shown for a model that was refused: a comparison of guesses helps nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from atlas.derived import Derived
from atlas.numbers import measure
from atlas.numbers.fingerprint import Fingerprint
from pipeline.errors import Invalid, Usage
from pipeline.sheets import inspect
from pipeline.sheets import show as showing
from pipeline.sheets.lines import DIM, HEAD, STRONG, WARN, WIDTH, Line, title, wrapped
from pipeline.sheets.sheet import COMPONENTS
from pipeline.sheets.stored import supposed
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
    home: Path,
    snapshot: str | None,
    wanted: Sequence[str],
    at: int,
    dtype: str,
    width: float,
    weights: str | None = None,
) -> Compared:
    """The models that the words mean: a path that exists is a config or a checkpoint folder, all else a name.

    Raises:
        Usage: fewer than two models, or a folder of several configs.
        NotFound: no such model, or no snapshot.
        Invalid: a model was refused.
    """
    if len(wanted) < 2:
        raise Usage("one model is nothing to compare: name two or more (atlas show has one model's sheet)")
    return Compared(tuple(_subject(home, snapshot, each, at, width) for each in wanted), at, dtype, weights)


def _subject(home: Path, snapshot: str | None, wanted: str, at: int, width: float) -> Subject:
    name, source, derived = _local(wanted) if Path(wanted).exists() else _stored(home, snapshot, wanted)
    if derived.model is None:
        f = derived.fingerprint
        raise Invalid(f"{terminal(name)} cannot be compared, it is refused ({f.refusal_kind}): {f.refusal_reason}")
    return Subject(name, source, derived.fingerprint, _sized(derived, at, width), derived)


def _local(path: str) -> tuple[str, str, Derived]:
    if inspect.is_several(Path(path)):
        raise Usage(f"{path} is a folder without config.json: name one config or checkpoint folder")
    [(name, raw)] = inspect.models(path)
    # Every checkpoint's file is called config.json: its folder tells them apart.
    name = Path(path).absolute().parent.name if Path(path).name == "config.json" else name
    return name, path, inspect.derived(raw, name, None, inspect.beside_of(path))


def _stored(home: Path, snapshot: str | None, wanted: str) -> tuple[str, str, Derived]:
    shown = showing.find(home, snapshot, wanted)
    return shown.repo_id, f"snapshot {shown.snapshot}", shown.derived


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


def _computation(c: Compared) -> list[Fact]:
    """Epsilons, scales, pairings and the like that are not the same for all."""
    found = inspect.other_constants([s.derived for s in c.subjects])
    return [(name.replace("_", " "), _brief, list(values)) for name, values in found.items()]


def _brief(value: object) -> str:
    return shorten(str(value), 20)


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
        _column(rows, "bytes at bf16", "weight_bytes_bf16", binary),
        _column(rows, "bytes as stored", "weight_bytes_checkpoint", binary),
    ]


def _state(c: Compared, at: str) -> list[Fact]:
    constant = _column([s.row for s in c.subjects], "bytes of fixed size", "state_bytes_constant", _count)
    return [
        _sizes(c, "bytes a token adds", "kv_bytes_per_token", _count),
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
        (f"TP {t}", str, [None if r.tp_degrees is None else r.tp_degrees[t].partition(":")[0] for r in rows])
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
        name = shorten(terminal(s.name), WIDTH - 38)
        source = terminal(s.source)
        source = source if len(source) <= 24 else f"…{source[-23:]}"
        yield [(f"{_letter(i)}  ", HEAD), (name, STRONG), (f"  {s.row.verdict}, {source}", DIM)]
    yield []


def _abreast(c: Compared, shown: slice) -> Iterator[Line]:
    subjects = c.subjects[shown]
    each = (WIDTH - LABEL - 2) // len(subjects)
    first = shown.start
    heads = [f"{_letter(first + i)} {_short(s.name, each - 3)}".rjust(each) for i, s in enumerate(subjects)]
    yield [(" " * (LABEL + 2), ""), ("".join(heads), HEAD)]
    for section, found in facts(c):
        if not found:
            continue
        yield title(section)
        tight = any(len(_cell(_count, v)) >= each for _, show, values in found if show is _count for v in values[shown])
        for label, show, values in found:
            fit = scaled if show is _count and tight else show
            cells = [shorten(_cell(fit, v), each - 1).rjust(each) for v in values[shown]]
            yield _row(label, cells, differs=_differs(values))
        yield []


def _short(name: str, width: int) -> str:
    return shorten(terminal(name.rpartition("/")[2]), width)


def _row(label: str, cells: list[str], *, differs: bool) -> Line:
    text = "".join(cells)
    return [(f"{MARK if differs else ' '} ", WARN), (f"{label:<{LABEL}}", DIM), (text, STRONG if differs else "")]


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
