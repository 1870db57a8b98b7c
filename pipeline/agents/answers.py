"""The questions that an agent may ask, each answered as one short object. Absence is said, and is never zero."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, ParamSpec

import msgspec

from atlas.derived import Derived
from atlas.numbers import measure
from atlas.numbers.fingerprint import Fingerprint
from pipeline.agents.fence import encoded, fenced, plain
from pipeline.ask import names, resolver
from pipeline.ask import query as engine
from pipeline.ask.found import Asking, Found
from pipeline.ask.handed import misnamed
from pipeline.ask.whatif import shared_out, warnings
from pipeline.errors import Ambiguous, AtlasError, NotFound, Usage
from pipeline.serve.asking import Asked, wanted_of
from pipeline.serve.fit import fit as fitting
from pipeline.sheets.verdicts import VERDICTS, before_quoting
from pipeline.sheets.widths import context_of, width_of
from pipeline.store import shelf
from schemas.fields import FINGERPRINT

UNITS = {f.name: f.unit for f in FINGERPRINT}
LEADING = (
    "kind", "params_total", "params_active", "n_layers", "layer_pattern", "d_model", "vocab_size", "attention_kind",
    "n_q_heads", "n_kv_heads", "head_dim", "experts_per_token", "n_routed_experts", "sliding_window", "max_context",
    "kv_bytes_per_token", "index_bytes_per_token", "state_bytes_constant", "kv_bytes_128k", "weight_bytes_bf16",
    "weight_bytes_checkpoint", "dtype", "quant_method",
)  # fmt: skip
NULL = "null means not derived or not applicable, never zero"
P = ParamSpec("P")


def said(answering: Callable[P, str]) -> Callable[P, str]:
    """Let an error be an answer: what is wrong and what to do, and for a name that it is not in the atlas."""

    @wraps(answering)
    def guarded(*args: P.args, **options: P.kwargs) -> str:
        try:
            return answering(*args, **options)
        except Ambiguous as error:
            return encoded({"answer": "several models", "why": _why(error)})
        except NotFound as error:
            return encoded({"answer": "not in the atlas", "why": _why(error)})
        except AtlasError as error:
            return encoded({"answer": "none", "error": type(error).__name__, "why": _why(error)})
        except Exception as error:  # noqa: BLE001 - an agent is told in the same words, whatever went wrong
            return encoded({"answer": "none", "error": "unexpected", "why": fenced(f"{type(error).__name__}: {error}")})

    return guarded


def _why(error: AtlasError) -> str:
    return fenced("; ".join(str(error).splitlines()), 600)


def _identity(found: Found, derived: Derived | None = None) -> dict[str, Any]:
    f = (derived or found.derived).fingerprint
    made: dict[str, Any] = {
        "model": fenced(found.title),
        "verdict": f.verdict,
        "verdict_means": VERDICTS[str(f.verdict)],
        "check": f.check,
        "snapshot": found.snapshot,
        "source": fenced(found.source),
    }
    reason = f.refusal_reason or f.doubt
    return made | ({"why": fenced(reason, 400)} if reason else {})


def _supposed(found: Found, what_if: list[str]) -> tuple[Derived, dict[str, Any]]:
    """The model with keys of its config set, and what must be said of that first."""
    if not what_if:
        return found.derived, {}
    derived = found.what_if(what_if)
    told = [fenced(w) for w in warnings(found.derived, derived, what_if)]
    return derived, {"what_if": [fenced(c, 120) for c in what_if[:10]]} | ({"warnings": told} if told else {})


def _value(f: Fingerprint, name: str) -> dict[str, Any]:
    return {"value": plain(getattr(f, name))} | ({"unit": UNITS[name]} if UNITS.get(name) else {})


def _columns(fields: list[str] | None) -> tuple[list[str], dict[str, Any]]:
    """The columns asked for, and what to say of words that are none, with the columns nearest to them."""
    wanted, known = list(dict.fromkeys(fields or LEADING)), Fingerprint.__struct_fields__
    wrong = [w for w in wanted if w not in known][:10]
    near = list(dict.fromkeys(n for w in wrong for n in difflib.get_close_matches(w, known, n=1, cutoff=0.5)))
    told = {"no_such_fields": [fenced(w, 60) for w in wrong]} | ({"nearest_fields": near} if near else {})
    return [w for w in wanted if w in known], told if wrong else {}


@said
def find(asking: Asking, text: str, limit: int = 10) -> str:
    """Names that hold every word of a text."""
    known, snapshot = resolver.known_names(asking), resolver.snapshot_id(asking)
    found = names.matching(text, known)
    source = {"snapshot": snapshot, "source": "the snapshot" if snapshot else "the embedded catalogue"}
    if not found:
        near = names.near(text, known).removeprefix("; ")
        return encoded(
            {"answer": "not in the atlas", "asked": fenced(text), "near": fenced(near or "nothing")} | source
        )
    shown = [fenced(n) for n in found[: max(1, min(limit, 50))]]
    return encoded({"matches": len(found), "names": shown} | source, "names", len(found))


@said
def show(asking: Asking, model: str, fields: list[str] | None, cache: Cache, what_if: list[str]) -> str:
    """Columns of one model, each with its unit; the cache at a context and type where asked for."""
    found = resolver.resolve(model, asking)
    columns, unknown = _columns(fields)
    derived, supposed = _supposed(found, what_if)
    f = derived.fingerprint
    made = supposed | _identity(found, derived) | {"fields": {c: _value(f, c) for c in columns}, "null": NULL}
    made["before_quoting"] = list(before_quoting(derived))
    if cache.at is not None:
        made["cache"] = _cache(derived, cache)
    made |= unknown
    if found.adapter is not None:
        made["adapter"] = plain(msgspec.to_builtins(found.adapter))
    return encoded(made, "fields")


class Cache(NamedTuple):
    """What a cache is asked at: a context and a type of its elements, as words."""

    at: str | None = None
    dtype: str = "bf16"


def _cache(derived: Derived, cache: Cache) -> dict[str, Any]:
    tokens, width = context_of(cache.at or ""), width_of(cache.dtype)
    value = None
    if derived.model is not None and derived.fingerprint.kv_bytes_4k is not None:
        value = math.ceil(measure.kv_bytes(derived.model, tokens, width))
    return {"tokens": tokens, "dtype": cache.dtype.lower(), "value": value, "unit": "bytes of one sequence, logical"}


@said
def compare(asking: Asking, models: list[str], fields: list[str] | None, cache: Cache, what_if: list[str]) -> str:
    """Columns that differ, or those asked for, model by model."""
    if not 2 <= len(models) <= 6:
        raise Usage(f"two to six models are compared at once, and {len(models)} are named")
    found = [resolver.resolve(m, asking) for m in models]
    made = [_supposed(f, c) for f, c in zip(found, shared_out(what_if, len(found)), strict=True)]
    columns, unknown = _columns(fields)
    rows = {c: [plain(getattr(d.fingerprint, c)) for d, _ in made] for c in columns}
    kept = rows if fields else {c: v for c, v in rows.items() if any(x != v[0] for x in v)}
    who = [said | _identity(f, d) for f, (d, said) in zip(found, made, strict=True)]
    identity = [{k: v for k, v in each.items() if k not in ("verdict_means", "check")} for each in who]
    units = {c: UNITS[c] for c in kept if UNITS.get(c)}
    answer: dict[str, Any] = {"models": identity, "units": units, "fields": kept, "null": NULL}
    answer["fields_are"] = "as asked for" if fields else "those of the leading ones that differ"
    if cache.at is not None:
        answer["cache"] = [_cache(d, cache) for d, _ in made]
    answer |= unknown
    return encoded(answer, "fields")


@said
def evidence(asking: Asking, model: str, field: str | None) -> str:
    """Where values of a model come from."""
    found = resolver.resolve(model, asking)
    rows = [
        {"field": fenced(e.field, 60), "value": plain(e.value), "origin": e.origin, "source": fenced(e.source)}
        for e in found.derived.evidence
        if not field or field == e.field
    ]
    if not rows:
        return encoded(_identity(found) | {"answer": f"no evidence of {fenced(field or 'anything', 60)} is recorded"})
    return encoded(_identity(found) | {"evidence": rows}, "evidence")


@said
def sql(asking: Asking, query: str, timeout: float = 20.0) -> str:
    """Rows of one SELECT, by the same closed process as `atlas sql`."""
    entry, path = shelf.locate(asking.home, asking.snapshot)
    printed = bytearray()
    note = engine.run(path, query, _bounded(printed), form="json", timeout=timeout)
    rows = json.loads(printed)
    shown = [plain(r) for r in rows[:200]]
    made: dict[str, Any] = {"rows": shown, "found": note, "snapshot": entry.id, "source": f"snapshot {entry.id}"}
    if not rows:
        made["answer"] = "no row: the atlas holds none that fits, which says nothing of models outside it"
        missing = [fenced(m) for m in misnamed(path, query, {})]
        made |= {"perhaps": missing[:5]} if missing else {}
    return encoded(made | {"null": NULL}, "rows", len(rows))


MOST_PRINTED = 4 << 20


def _bounded(printed: bytearray) -> Callable[[bytes], object]:
    """Take in what a query prints, up to a bound."""

    def take(data: bytes) -> None:
        if len(printed) + len(data) > MOST_PRINTED:
            raise AtlasError("the query prints more than four megabytes: select fewer columns, or LIMIT it")
        printed.extend(data)

    return take


@said
def fit(asking: Asking, model: str, options: dict[str, Any], what_if: list[str]) -> str:
    """Whether a model fits on GPUs, and what binds."""
    if any(n is not None and n < 1 for n in (options.get("gpus"), options.get("sequences"))):
        raise Usage("gpus and sequences are counts: at least one of each")
    found = resolver.resolve(model, asking)
    derived, supposed = _supposed(found, what_if)
    value = fitting(found.title, derived, wanted_of(Asked(**options)))
    made = supposed | _identity(found, derived) | {"fit": plain(msgspec.to_builtins(value))}
    return encoded(made | {"unit": "bytes of the fullest GPU, logical"}, "fit")
