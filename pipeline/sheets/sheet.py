"""One model as a sheet for people: identity, three ledgers, the layer strip, what was assumed, what was not read.

Byte sizes are logical sizes of one sequence, without pages, padding or an engine's reserve.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from atlas.derived import Derived
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.tabulate import layers_expanded
from pipeline.sheets.lines import BAR, DIM, STRONG, WARN, WIDTH, Line, labelled, title, wrapped
from pipeline.sheets.stored import measured, stored_form
from pipeline.sheets.strip import strip
from pipeline.sheets.verdicts import CHECKS, VERDICTS, before_quoting
from pipeline.text import shorten, terminal
from pipeline.units import binary, scaled
from schemas.vocabulary import Verdict

COMPONENTS = {
    "embedding": "embedding",
    "unembedding": "unembedding",
    "attention": "attention",
    "recurrent": "recurrent mixers",
    "ffn_dense": "dense feed-forward",
    "experts_routed": "routed experts",
    "experts_shared": "shared experts",
    "router": "router",
    "norm": "norms",
    "other": "other",
}


def sheet(
    derived: Derived,
    *,
    layers: bool = False,
    evidence: bool = False,
    first: str | None = None,
    asked: Iterable[Line] = (),
) -> Iterator[Line]:
    """Every line of a model's sheet; `first` must be known before a number is quoted, `asked` joins the state."""
    f = derived.fingerprint
    cautions = list(before_quoting(derived))
    yield from _identity(f, checked=CHECKS["exact"] in cautions)
    yield from _before_quoting(c for c in (first, *cautions) if c and c != CHECKS["exact"])
    if derived.model is None:
        yield from measured(derived) if f.verdict == Verdict.MEASURED else _refusal(f)
        return
    yield from _shape(f)
    yield from _weights(f)
    yield from _state(f, _looks_both_ways(derived), asked)
    yield from _runtime(f, _stated(derived))
    yield from stored_form(f, derived.stored)
    yield from strip(layers_expanded(derived.model), whole=layers)
    yield from _evidence(derived) if evidence else _assumed(derived)
    yield from _unread(derived)


def _identity(f: Fingerprint, *, checked: bool) -> Iterator[Line]:
    name = shorten(terminal(f.repo_id or "(unnamed)"), WIDTH - 12)
    yield [(name, STRONG), (f"{f.verdict:>{WIDTH - len(name)}}", WARN if f.verdict != "known" else "green")]
    parts = [f.kind, f.model_type, f.architecture_class, f.design_id and f"design {f.design_id}"]
    if any(parts):
        yield from wrapped(" · ".join(terminal(p) for p in parts if p), 0, DIM)
    yield from _reservations(f)
    if f.verdict != Verdict.REFUSED:
        yield from wrapped(VERDICTS[str(f.verdict)] + (f". {CHECKS['exact']}" if checked else ""), 2, DIM)


def _before_quoting(cautions: Iterable[str]) -> Iterator[Line]:
    """What a reader must know before he quotes a number, one sentence a line."""
    for said in cautions:
        yield from wrapped(f"! {terminal(said)}", 2, WARN, hang=2)
    yield []


def _reservations(f: Fingerprint) -> Iterator[Line]:
    """What speaks against the numbers below: a key that nobody can answer for."""
    if f.doubt is not None:
        yield from wrapped(f"! {terminal(f.doubt)}", 2, WARN, hang=2)


def _refusal(f: Fingerprint) -> Iterator[Line]:
    yield [("Refused: ", WARN), (str(f.refusal_kind), STRONG)]
    yield from wrapped(terminal(f.refusal_reason or ""), indent=2)


def _shape(f: Fingerprint) -> Iterator[Line]:
    yield from labelled("  layers     ", f"{f.n_layers}  {terminal(f.layer_pattern or '')}")
    yield [
        ("  width      ", DIM),
        (f"{f.d_model:,}", STRONG),
        (f" · vocabulary {f.vocab_size:,}{' (tied)' if f.tie_word_embeddings else ''}", ""),
    ]
    if f.n_q_heads:
        yield from _attention(f)
    if f.d_ff:
        yield [("  ffn        ", DIM), (f"{f.d_ff:,}", STRONG), (_network(f), "")]
    if f.is_moe:
        yield [("  experts    ", DIM), (f"{f.experts_per_token} of {f.n_routed_experts}", STRONG), (_experts(f), "")]
    yield [("  norm       ", DIM), (f"{f.norm_class}, {f.norm_placement}", "")]
    yield []


def _attention(f: Fingerprint) -> Iterator[Line]:
    """Heads and their marks on one line, or on two where one is too short."""
    kind, heads, marks = str(f.attention_kind), _heads(f), _marks(f)
    fits = 13 + len(kind + heads + marks) <= WIDTH
    yield [("  attention  ", DIM), (kind, STRONG), (heads + (marks if fits else ""), "")]
    if not fits:
        yield [(" " * 13 + marks.removeprefix(", "), "")]


def _heads(f: Fingerprint) -> str:
    heads = f", {f.n_q_heads} query heads"
    heads += f" on {f.n_kv_heads} KV head{'' if f.n_kv_heads == 1 else 's'}" if f.n_kv_heads else ""
    return heads + (f" of {f.head_dim}" if f.head_dim == f.v_head_dim else f" of {f.head_dim} (V {f.v_head_dim})")


def _marks(f: Fingerprint) -> str:
    extras = {
        "QK norm": f.has_qk_norm,
        "bias": f.has_attention_bias,
        "sinks": f.has_sinks,
        f"window {f.sliding_window}": f.sliding_window,
    }
    return "".join(f", {k}" for k, v in extras.items() if v)


def _network(f: Fingerprint) -> str:
    return f" {f.activation}, {'gated' if f.is_gated_ffn else 'two matrices'}" + (
        f", in {f.n_dense_ffn_layers} layers" if f.is_moe else ""
    )


def _experts(f: Fingerprint) -> str:
    shared = f" + {f.n_shared_experts} shared" if f.n_shared_experts else ""
    return f"{shared} of {f.moe_d_ff:,} in {f.n_moe_layers} layers" if f.moe_d_ff else shared


def _weights(f: Fingerprint) -> Iterator[Line]:
    assert f.params_total is not None  # noqa: S101 - only derived models come here
    yield title(f"Weights  {f.params_total:,} parameters", f"{binary(2 * f.params_total)} at bf16")
    for key, label in COMPONENTS.items():
        n, share = getattr(f, f"params_{key}"), getattr(f, f"share_{key}")
        if n:
            yield [(f"  {label:<20}", DIM), (f"{n:>20,}", ""), (_percent(share), ""), ("█" * round(28 * share), BAR)]
    yield [
        ("  one token uses      ", DIM),
        (f"{f.params_active:>20,}", ""),
        (f"   and multiplies by {f.params_active_compute:,}", DIM),
    ]
    apart = {"MTP layers": f.params_mtp, "towers": f.params_towers, "buffers": f.params_buffers}
    for label, n in apart.items():
        if n:
            yield [(f"  {label:<20}", DIM), (f"{n:>20,}", ""), ("   beside the total", DIM)]
    if f.has_towers and f.params_towers is None:
        yield [("  vision or audio towers are in the checkpoint and not in these numbers", WARN)]
    if f.n_mtp_layers and f.params_mtp is None:
        yield [("  MTP layers are in the checkpoint and not in these numbers", WARN)]
    yield []


def _percent(share: float) -> str:
    return f"{100 * share:>7.1f} % " if share >= 0.0005 else "   <0.1 % "


def _looks_both_ways(derived: Derived) -> str | None:
    """Which key or class says that every token sees all others, where one does."""
    return next((e.source for e in derived.evidence if e.field == "attention_mask"), None)


def _state(f: Fingerprint, why: str | None, asked: Iterable[Line]) -> Iterator[Line]:
    if f.kv_bytes_4k is None:
        yield title("State of one sequence  none: an encoder keeps no cache")
        yield from wrapped(terminal(why), 2, DIM) if why else ()
        yield []
        return
    yield title("State of one sequence", "logical bytes, cache at bf16")
    label = "  each token adds" if f.kv_bytes_per_token else "  a token adds, until the windows are full"
    grows = f.kv_bytes_per_token or f.kv_bytes_per_token_first
    first = (
        f.kv_bytes_per_token_first
        if f.kv_bytes_per_token and f.kv_bytes_per_token_first != f.kv_bytes_per_token
        else None
    )
    yield [
        (f"{label:<22}", DIM),
        (f"{grows:>18,} B", STRONG),
        (f"   {first:,} B while windows fill" if first else "", DIM),
    ]
    if f.index_bytes_per_token:
        yield [("  index, each token   ", DIM), (f"{f.index_bytes_per_token:>18,} B", "")]
    if f.state_bytes_constant:
        yield [("  of fixed size       ", DIM), (f"{f.state_bytes_constant:>18,} B", "")]
    if f.cross_kv_bytes_per_source_token:
        yield [("  per source token    ", DIM), (f"{f.cross_kv_bytes_per_source_token:>18,} B", "")]
    sizes = {"4K": f.kv_bytes_4k, "32K": f.kv_bytes_32k, "128K": f.kv_bytes_128k, "1M": f.kv_bytes_1m}
    yield [("  at  ", DIM), *((f"{k} {binary(v)}    ", "") for k, v in sizes.items() if v is not None)]
    yield from asked
    yield []


def _cell(n: int | None) -> str:
    return "-" if n is None else scaled(n)


def _prompt_and_source(f: Fingerprint) -> Iterator[Line]:
    """What a whole prompt costs beside its weights, and a token of a source where there is one."""
    if f.prefill_attention_flops_4k and f.prefill_attention_flops_128k:
        at = f"{scaled(f.prefill_attention_flops_4k)} at 4K, {scaled(f.prefill_attention_flops_128k)} at 128K"
        yield [("  whole prompt ", DIM), (at, ""), ("   of attention", DIM)]
    if f.source_flops_per_token and f.cross_attention_flops_per_source_token:
        looked = f"   and {scaled(f.cross_attention_flops_per_source_token)} of each token that looks at it"
        yield [("  source token ", DIM), (scaled(f.source_flops_per_token), ""), (looked, DIM)]


def _runtime(f: Fingerprint, stated: str) -> Iterator[Line]:
    yield title("Runtime shape", "one token, one sequence, bytes at bf16")
    way = "both ways" if f.attention_mask == "bidirectional" else "back"
    near, far = f.attention_flops_per_token_4k, f.attention_flops_per_token_128k
    looks = "" if near is None or far is None else f"  + looking {way} {scaled(near)} at 4K, {scaled(far)} at 128K"
    yield [("  FLOPs        ", DIM), (_cell(f.flops_per_token), STRONG), (looks, "")]
    yield from _prompt_and_source(f)
    if f.decode_bytes_per_token_4k is not None and f.decode_bytes_per_token_128k is not None:
        yield [
            ("  decode reads ", DIM),
            (f"{binary(f.decode_bytes_per_token_4k)} at 4K, {binary(f.decode_bytes_per_token_128k)} at 128K", ""),
        ]
    yield from labelled("  context      ", _context(f, stated))
    yield from _degrees(f)
    yield from _batches(f)
    yield []


def _degrees(f: Fingerprint) -> Iterator[Line]:
    """Degrees by what happens at them and why: `even at 2, 4, 8`, then `16: copied: 8 KV heads on 16 ranks`."""
    found = f.tp_degrees or {}
    even = [t for t, said in found.items() if said == "even"]
    label = "  tensor par.  "
    if even:
        widths = ", ".join(f"{(f.tp_alignment or {}).get(t, 1)}" for t in even)
        yield [(label, DIM), (f"even at {', '.join(even)}", STRONG), (f"; ranks' widths are multiples of {widths}", "")]
        label = " " * len(label)
    for said in dict.fromkeys(s for s in found.values() if s != "even"):
        first, *rest = textwrap.wrap(
            f"at {', '.join(t for t in found if found[t] == said)}: {said}", WIDTH - len(label)
        )
        yield [(label, DIM), (first, "")]
        label = " " * len(label)
        yield from ([(label + more, "")] for more in rest)


def _batches(f: Fingerprint) -> Iterator[Line]:
    """Experts that a batch touches, and what is sent for one token."""
    touched = [n for n in (f.experts_touched_b8, f.experts_touched_b64, f.experts_touched_b256) if n is not None]
    sent, back = f.dispatch_bytes_per_token, f.combine_bytes_per_token
    if len(touched) < 3 or sent is None or back is None:
        return
    each = ", ".join(f"{n:,.1f}" for n in touched)
    yield [("  batch        ", DIM), (f"8, 64, 256 tokens touch {each} experts a layer", "")]
    yield [("  network      ", DIM), (f"{binary(sent)} sent to experts, {binary(back)} back, a token at bf16", "")]


def _stated(derived: Derived) -> str:
    """Whether the config states the context, or who does."""
    origins = {e.origin for e in derived.evidence if e.field == "max_position_embeddings"}
    return "by the class's default" if origins == {"class_default"} else "stated"


def _context(f: Fingerprint, stated: str) -> str:
    said = f"{f.max_context:,} tokens {stated}" if f.max_context else "not stated"
    said += f", {f.position}" + (f" theta {f.rope_theta:,.0f}" if f.rope_theta else "")
    if f.rope_scaling:
        said += f", {terminal(f.rope_scaling)}" + (f" x{f.rope_factor:g}" if f.rope_factor else "")
        said += f" from {f.native_context:,}" if f.native_context else ""
    return said


def _assumed(derived: Derived) -> Iterator[Line]:
    """Values that no key of the config states, but for the plain rules of the family; verdict and class stand above."""
    above = ("verdict", "head") if derived.fingerprint.architecture_class else ("verdict",)
    found = [e for e in derived.evidence if e.field not in above]
    defaults = [e for e in found if e.origin == "class_default"]
    reasoned = [e for e in found if e.origin in ("derived", "correction", "reported")]
    if not defaults and not reasoned:
        return
    yield title("Not stated in the config")
    for e in reasoned:
        said = f"{shorten(terminal(e.field), 28)} = {terminal(str(e.value))}, {e.origin}: {terminal(e.source)}"
        yield from wrapped(said, 2, hang=2)
    if defaults:
        values = ", ".join(f"{shorten(terminal(e.field), 28)} = {terminal(str(e.value))}" for e in defaults)
        yield from wrapped(f"class_default: {values}", 2, hang=2)
    yield []


def _unread(derived: Derived) -> Iterator[Line]:
    if derived.unread:
        yield title("Not read", "keys that nothing here depends on, so far as is known")
        yield from wrapped(", ".join(terminal(k) for k in derived.unread), 2, WARN)
        yield []


def _evidence(derived: Derived) -> Iterator[Line]:
    yield title("Evidence", "where every value comes from")
    for e in derived.evidence:
        label, value = f"  {shorten(terminal(e.field), 28):<28} ", shorten(terminal(str(e.value)), 400)
        said = e.origin if e.source == e.field else f"{e.origin}: {terminal(e.source)}"
        if len(label) + max(len(value), 16) + 1 + len(said) <= WIDTH:
            yield [(label, DIM), (f"{value:<16} ", STRONG), (said, DIM)]
            continue
        yield from labelled(label, value, STRONG)
        yield from wrapped(said, 6, DIM, hang=2)
    yield []
