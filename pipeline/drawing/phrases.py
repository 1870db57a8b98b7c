"""A part in words: its title, its figures, and what it keeps. Numbers are the structure's."""

from __future__ import annotations

from collections.abc import Iterable

from atlas.numbers.entries import State
from atlas.numbers.structure import Feeding, Mixing, Part
from schemas.vocabulary import AttentionKind, Component, Mask, Mixer

SPACE = "\xa0"
LONG = 32
"""Letters up to which a figure stays on one line."""
NAMES = {
    "gqa": "Grouped-query attention", "mha": "Multi-head attention", "mqa": "Multi-query attention",
    "mla": "Latent attention (MLA)", "swa": "Sliding-window attention", "chunked": "Chunked attention",
    "dsa": "Sparse latent attention", "dsa-shared": "Sparse latent attention", "sparse": "Block-sparse attention",
    "csa": "Compressed sparse attention", "hca": "Heavily compressed attention", "cross": "Cross-attention",
    "gdn": "Gated DeltaNet", "kda": "Kimi delta attention", "lightning": "Lightning attention", "mlstm": "Matrix LSTM",
    "rg_lru": "Gated linear recurrence", "rwkv": "RWKV time mixing", "mamba": "Mamba", "mamba2": "Mamba-2",
    "conv": "Short convolution",
}  # fmt: skip
GATED = {"silu": "SwiGLU", "gelu": "GeGLU", "gelu_tanh": "GeGLU", "gelu_new": "GeGLU", "relu": "ReGLU",
         "swigluoai": "clamped SwiGLU", "silu_softcapped": "softcapped SwiGLU",
         "poly_norm": "gated PolyNorm"}  # fmt: skip
PLAIN = {"relu2": "ReLU²", "gelu": "GELU", "gelu_tanh": "GELU", "gelu_new": "GELU", "relu": "ReLU", "silu": "SiLU"}
POSITIONS = {"rope": "RoPE", "nope": "NoPE", "alibi": "ALiBi", "relative": "relative positions"}
NORMS = {"rmsnorm": "RMSNorm", "layernorm": "LayerNorm", "nonparametric_layernorm": "LayerNorm, no weights"}
BESIDE = {
    "hyper.connection": "hyper-connections", "hyper.low_rank": "low-rank hyper-connections",
    "scales": "learned scales of the residual", "norm.gates": "gated norms",
    "adapters": "an adapter per language", "linear": "one matrix", "conv.after": "a convolution behind the network",
    "none": "", "residual.none": "", "residual.blocks": "attention over earlier blocks",
    "embedding.per_layer": "embeddings per layer", "per_layer": "embeddings per layer", "altup": "alternating updates",
}  # fmt: skip


BY_CHANNEL = frozenset({"ssm.mamba", "conv.short", "linear.rwkv"})
"""Mixers whose state goes by channel: what ranks divide there is no head."""


def kind_name(kind: str) -> str:
    """A kind in words: the last part of it where it has no name."""
    return BESIDE.get(kind, kind.rpartition(".")[2].replace("_", " "))


def size(n: float) -> str:
    """Bytes in the largest unit of 1,024 that leaves at least one, to three digits."""
    power = min(3, max(0, (int(n).bit_length() - 1) // 10))
    scaled = n / 1024**power
    return f"{scaled:.{3 if scaled < 1000 else 4}g} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def count(n: float) -> str:
    """A count with K, M, B or T, to three digits."""
    units = ((1e12, " T"), (1e9, " B"), (1e6, " M"), (1e3, " K"))
    limit, unit = next(((x, u) for x, u in units if n >= x), (1.0, ""))
    scaled = n / limit
    return f"{scaled:.3g}{unit}" if scaled < 999.5 else f"{scaled:.0f}{unit}"


def width(s: State) -> int:
    """Bytes of one element: the family's own, else two (bf16)."""
    return 2 if s.width is None else s.width


def title(p: Part) -> str:
    """What the part is."""
    i = p.info
    if isinstance(i, Mixing):
        return NAMES.get(i.label, i.label)
    if isinstance(i, Feeding) and i.n_routed:
        shared = f" + {i.n_shared} shared" if i.n_shared else ""
        return f"Experts, {i.top_k} of {i.n_routed + empty(p)}{shared}"
    return "Feed-forward" if isinstance(i, Feeding) else kind_name(p.kind).capitalize()


def empty(p: Part) -> int:
    """Choices of a router without weights behind them."""
    return next((t.choices - t.stored for t in p.tensors if t.choices), 0)


def figures(p: Part, d: int) -> str:
    """The numbers that make it this one."""
    if isinstance(p.info, Feeding):
        return _feeding(p, p.info, d)
    if not isinstance(p.info, Mixing):
        return ""
    said = _attention(p, p.info) if p.info.n_q_heads else _recurrent(p)
    return listed([*said, *_inside(p)])


def _inside(p: Part) -> list[str]:
    """What of a layer's frame a part holds among its own weights."""
    names = [t.name for t in p.tensors]
    before = any(n.removesuffix(".weight").removesuffix(".0").endswith(IN_FRONT) for n in names)
    attends = any(n.endswith("_input.query") for n in names)
    return ["attends over earlier blocks"] * attends + ["a norm of its own in front"] * before


IN_FRONT = ("input_layernorm", "post_attention_layernorm", "pre_ff_layernorm")
"""Names of norms in front of a mixer or a network, where the part itself holds one."""


def _feeding(p: Part, i: Feeding, d: int) -> str:
    act = (GATED if i.is_gated else PLAIN).get(i.activation, i.activation)
    outer = _down(p, Component.EXPERTS_ROUTED, i.d_ff) or d
    said = [act, f"{'each ' if i.n_routed else ''}{outer} → {i.d_ff} → {outer}", _shared(p, i)]
    said += [f"{empty(p)} of them identity, without weights"] * bool(empty(p))
    said += [word for name, word in ROUTED.items() if any(t.name.endswith(name) for t in p.tensors)]
    said += ["norms of its own before and after"] * (p.kind == "ffn.moe_beside")
    return listed([*said, *_inside(p)])


def _down(p: Part, of: Component, inner: int) -> int | None:
    """The width that experts give back, by their last matrix."""
    found = (t.shape for t in p.tensors if t.component is of and t.name.endswith("down_proj.weight"))
    return next((s[0] for s in found if len(s) == 2 and s[1] == inner), None)


def _shared(p: Part, i: Feeding) -> str:
    """The inner width of what is shared, where it is not that of as many routed experts."""
    own = [t for t in p.tensors if t.component is Component.EXPERTS_SHARED and t.name.endswith("down_proj.weight")]
    wide = sum(t.shape[-1] * t.stored for t in own)
    return f"shared: {wide} wide" if i.n_shared and wide not in (0, i.n_shared * i.d_ff) else ""


ROUTED = {
    "tid2eid": "chosen by a table from tokens to experts",
    "e_score_correction_bias": "a correction of scores",
}
"""What chooses experts, beside the scores of a router."""


def listed(said: Iterable[str]) -> str:
    """What is said, by commas; a line breaks between two figures and not within one, unless it is long."""
    return ", ".join(s.replace(" ", SPACE) if len(s) <= LONG else s for s in said if s)


def beside(p: Part) -> str:
    """A part that stands in no branch, in words; nothing where it holds nothing."""
    if p.kind == "embedding.per_layer" and not any(t.component is Component.EMBEDDING for t in p.tensors):
        return "a scale of the layer"
    return kind_name(p.kind) if p.tensors else ""


def state_heads(p: Part) -> int | None:
    """Heads of a recurrent mixer, each with a state of its own; nothing where its state goes by channel."""
    return None if p.kind in BY_CHANNEL else next((s.heads for s in p.states if s.heads), None)


def _recurrent(p: Part) -> list[str]:
    """A state by heads, or whole, in its shape where the weights show it; and the convolution in front of it."""
    kernel = next((s.kernel for s in p.states if s.kernel), None)
    held = [s for s in p.states if s.kernel is None]
    whole = sum(s.elements for s in held)
    heads = state_heads(p)
    shape = _state_shape(p, whole, heads) if len(held) == 1 else f"{whole // (heads or 1):,}"
    state = f"{heads} heads, each a state of {shape}" if heads and whole else f"state of {shape}"
    return [state if whole else "", f"convolution over {kernel}" if kernel else ""]


def _state_shape(p: Part, whole: int, heads: int | None) -> str:
    """A state by the values that the last matrix reads of it: of a head, or of all channels where decays are by both.

    Its size alone where the weights do not show them.
    """
    each, n = whole // (heads or 1), heads or 1
    by_both = any(t.name.endswith("A_log") and len(t.shape) == 2 for t in p.tensors)
    read = next((t.shape[1] for t in p.tensors if t.name.endswith(("out_proj.weight", "o_proj.weight"))), 0)
    shown = read > 0 and (heads or by_both) and read % n == 0 and each % (read // n) == 0
    return f"{read // n}{SPACE}×{SPACE}{each // (read // n)}" if shown else f"{each:,}"


def _attention(p: Part, i: Mixing) -> list[str]:
    same = i.v_head_dim in (None, i.head_dim)
    limit = next((r.limit for r in p.reads if r.limit), None)
    ways = {Mask.BIDIRECTIONAL: "bidirectional", Mask.PREFIX: "bidirectional in the prefix"}.get(i.mask, "")
    return [
        f"{i.n_q_heads} heads × {i.head_dim}",
        "" if same else f"values × {i.v_head_dim}",
        f"{i.n_kv_heads} KV" if i.n_kv_heads not in (None, i.n_q_heads) else "",
        "values are the keys, no V matrix" if p.kind.endswith("values_from_keys") else "",
        _latent(p, i),
        _position(i),
        "QK-norm" if i.qk_norm in ("head", "full", "each", "unit") else "",
        "sinks" if i.has_sinks else "",
        _biases(p, i),
        _gate(p, i),
        ways,
        f"window {i.window:,}" if i.window else "",
        f"reads the top {limit:,}" if limit else "",
        "index of an earlier layer" if i.label == "dsa-shared" else "",
        "" if i.shared_from is None else f"reads the cache of layer {i.shared_from}",
    ]


def _latent(p: Part, i: Mixing) -> str:
    """The latent, and the key beside it that all heads share."""
    if i.latent is None:
        return ""
    kept = next((s.elements for s in p.states if s.kind == "kv"), None)
    beside = i.rotary_dim or (0 if kept is None else kept - i.latent)
    word = "rotary" if i.rotary_dim else "shared key"
    return f"latent {i.latent} + {beside} {word}" if beside > 0 else f"latent {i.latent}"


def _biases(p: Part, i: Mixing) -> str:
    """Which projections have a bias."""
    names = {t.name.rpartition("self_attn.")[2].removeprefix("encoder_attn.") for t in p.tensors}
    found = [x.upper() for x in "qkvo" if f"{x}_proj.bias" in names]
    return f"biases of {', '.join(found)}" if found else "biases" if i.has_bias else ""


def _gate(p: Part, i: Mixing) -> str:
    """A gate on the output of attention: rows of its own, or half of the rows that make the queries."""
    shapes = {t.name: t.shape for t in p.tensors}
    own = next((shapes[n] for n in GATES if n in shapes), None)
    if own is not None:
        return "output gate per head" if own[0] == i.n_q_heads else "output gate"
    rows, wide = shapes.get("self_attn.q_proj.weight"), (i.n_q_heads or 0) * (i.head_dim or 0)
    return "output gate" if rows is not None and wide and rows[0] == 2 * wide else ""


GATES = ("self_attn.g_proj.weight", "self_attn.gate_proj.weight")
"""A matrix that makes the gate of attention's output."""


def _position(i: Mixing) -> str:
    if i.mixer is Mixer.CROSS_ATTENTION or i.position is None:
        return ""
    word = POSITIONS.get(i.position, "")
    partial = i.rotary_dim and i.head_dim and i.rotary_dim < i.head_dim and i.latent is None
    return f"{word} over {i.rotary_dim}" if word and partial else word


def keeps(p: Part) -> str:
    """What one token leaves behind here, and what has a fixed size."""
    fixed = sum(s.elements * width(s) for s in p.states if not s.stride)
    said = [_entry(s) for s in p.states if s.stride]
    if fixed:
        said.append(f"{size(fixed)} fixed" if said else f"{size(fixed)}, whatever the length")
    if not said and isinstance(p.info, Mixing) and p.info.shared_from is not None:
        return "keeps nothing"
    word = f"KV{SPACE}cache" if any(s.stride and s.kind in ("kv", "cross") for s in p.states) else "keeps"
    return f"{word}{SPACE}" + " + ".join(said) if said else ""


def _entry(s: State) -> str:
    per = "source position" if s.kind == "cross" else "token" if s.stride == 1 else f"{s.stride} tokens"
    index = "index " if s.kind == "index" else ""
    last = f"last {s.window:,}" if s.window else ""
    return listed([f"{index}{size(s.elements * width(s))} per {per}", last])


def is_shared(p: Part) -> bool:
    """Whether all weights of the part are another layer's."""
    return bool(p.tensors) and not any(t.stored for t in p.tensors)


def spoken(p: Part, d: int) -> str:
    """The part as a clause of the text alternative."""
    return ", ".join(s for s in (title(p), figures(p, d), keeps(p)) if s)


def is_mla(i: Mixing) -> bool:
    """Whether keys and values are made from one latent."""
    return i.attention_kind is AttentionKind.MLA
