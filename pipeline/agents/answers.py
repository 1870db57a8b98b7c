"""The questions that an agent may ask, each answered as one short object. Absence is said, and is never zero."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import msgspec

from atlas.numbers import measure
from atlas.numbers.fingerprint import Fingerprint
from pipeline.agents.fence import encoded, fenced, plain
from pipeline.ask import names, resolver
from pipeline.ask import query as engine
from pipeline.ask.found import Asking, Found
from pipeline.errors import AtlasError, NotFound
from pipeline.serve.asking import Asked, answer
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
        except NotFound as error:
            return encoded({"answer": "not in the atlas", "why": fenced(error, 600)}, "")
        except AtlasError as error:
            return encoded({"answer": "none", "error": type(error).__name__, "why": fenced(error, 600)}, "")

    return guarded


def _identity(found: Found) -> dict[str, Any]:
    f = found.derived.fingerprint
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


def _value(f: Fingerprint, name: str) -> dict[str, Any]:
    return {"value": plain(getattr(f, name))} | ({"unit": UNITS[name]} if UNITS.get(name) else {})


def _columns(fields: list[str] | None) -> tuple[list[str], list[str]]:
    """The columns asked for, and words that are none."""
    wanted = list(fields or LEADING)
    known = set(Fingerprint.__struct_fields__)
    return [w for w in wanted if w in known], [w for w in wanted if w not in known]


@said
def find(asking: Asking, text: str, limit: int = 10) -> str:
    """Names that hold every word of a text."""
    known = resolver.known_names(asking)
    found = names.matching(text, known)
    if not found:
        near = names.near(text, known).removeprefix("; ")
        return encoded({"answer": "not in the atlas", "asked": fenced(text), "near": fenced(near or "nothing")}, "")
    shown = [fenced(n) for n in found[: max(1, min(limit, 50))]]
    return encoded({"matches": len(found), "names": shown, "snapshot": resolver.snapshot_id(asking)}, "names")


@said
def show(asking: Asking, model: str, fields: list[str] | None, at: str | None, dtype: str) -> str:
    """Columns of one model, each with its unit; the cache at a context and type where asked for."""
    found = resolver.resolve(model, asking)
    columns, unknown = _columns(fields)
    f = found.derived.fingerprint
    made = _identity(found) | {"fields": {c: _value(f, c) for c in columns}, "null": NULL}
    made["before_quoting"] = list(before_quoting(found.derived))
    if at is not None:
        made["cache"] = _cache(found, at, dtype)
    if unknown:
        made["no_such_fields"] = [fenced(u, 60) for u in unknown[:10]]
    if found.adapter is not None:
        made["adapter"] = plain(msgspec.to_builtins(found.adapter))
    return encoded(made, "fields")


def _cache(found: Found, at: str, dtype: str) -> dict[str, Any]:
    tokens, width = context_of(at), width_of(dtype)
    known = found.derived.model is not None and found.derived.fingerprint.kv_bytes_4k is not None
    value = None
    if known and found.derived.model is not None:
        value = math.ceil(measure.kv_bytes(found.derived.model, tokens, width))
    return {"tokens": tokens, "dtype": dtype.lower(), "value": value, "unit": "bytes of one sequence, logical"}


@said
def compare(asking: Asking, models: list[str], fields: list[str] | None, at: str | None, dtype: str) -> str:
    """Columns that differ, or those asked for, model by model."""
    found = [resolver.resolve(m, asking) for m in models[:6]]
    columns, unknown = _columns(fields)
    rows = {c: [plain(getattr(f.derived.fingerprint, c)) for f in found] for c in columns}
    kept = rows if fields else {c: v for c, v in rows.items() if any(x != v[0] for x in v)}
    identity = [{k: v for k, v in _identity(f).items() if k not in ("verdict_means", "check")} for f in found]
    units = {c: UNITS[c] for c in kept if UNITS.get(c)}
    made: dict[str, Any] = {"models": identity, "units": units, "fields": kept, "null": NULL}
    made["fields_are"] = "as asked for" if fields else "those of the leading ones that differ"
    if at is not None:
        made["cache"] = [_cache(f, at, dtype) for f in found]
    if unknown:
        made["no_such_fields"] = [fenced(u, 60) for u in unknown[:10]]
    return encoded(made, "fields")


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
        return encoded(
            _identity(found) | {"answer": f"no evidence of {fenced(field or 'anything', 60)} is recorded"}, ""
        )
    return encoded(_identity(found) | {"evidence": rows}, "evidence")


@said
def sql(asking: Asking, query: str, timeout: float = 20.0) -> str:
    """Rows of one SELECT, by the same closed process as `atlas sql`."""
    entry, path = shelf.locate(asking.home, asking.snapshot)
    printed = bytearray()
    note = engine.run(path, query, _bounded(printed), form="json", timeout=timeout)
    rows = json.loads(printed)
    made: dict[str, Any] = {"rows": [plain(r) for r in rows[:200]], "found": note, "snapshot": entry.id}
    if not rows:
        made["answer"] = "no row: the atlas holds none that fits, which says nothing of models outside it"
    return encoded(made | {"null": NULL}, "rows")


MOST_PRINTED = 4 << 20


def _bounded(printed: bytearray) -> Callable[[bytes], object]:
    """Take in what a query prints, up to a bound."""

    def take(data: bytes) -> None:
        if len(printed) + len(data) > MOST_PRINTED:
            raise AtlasError("the query prints more than four megabytes: select fewer columns, or LIMIT it")
        printed.extend(data)

    return take


@said
def fit(asking: Asking, model: str, options: dict[str, Any]) -> str:
    """Whether a model fits on GPUs, and what binds."""
    found = resolver.resolve(model, asking)
    asked = Asked(models=[model], home=asking.home, snapshot=asking.snapshot, offline=asking.offline,
                  endpoint=asking.endpoint, **options)  # fmt: skip
    value = answer(asked).value["models"][0]
    return encoded(_identity(found) | {"fit": plain(value), "unit": "bytes of the fullest GPU, logical"}, "fit")
