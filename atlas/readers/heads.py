"""Attention of families whose heads follow switches of their own.

Where a family's code travels with its checkpoints, nothing is taken for granted: a switch that no published model uses
is refused.
"""

from __future__ import annotations

from atlas.layouts.words import Grouped, KvHeads
from atlas.numbers.structure import Part
from atlas.parts.attention import Gqa, gqa
from atlas.readers.attention import head_dim
from atlas.readers.view import View, said
from atlas.refusal import bad_value, contradiction, not_derivable


def read_block_attention(v: View) -> Part:
    """Attention whose KV heads are the query heads over those in a group."""
    d, heads, group = v.count("hidden_size"), v.count("num_attention_heads"), said(v, Grouped).group
    if heads % group:
        raise contradiction(f"{heads} query heads are no multiple of {group} in a group")
    hd, bias = head_dim(v, d, heads), v.flag("attention_bias")
    return gqa(Gqa(d, heads, heads // group, hd, hd, bias, bias, rotary_dim=hd))


def read_block_heads(v: View) -> Part:
    """Attention with the KV heads that its block states."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    hd = head_dim(v, d, heads)
    return gqa(Gqa(d, heads, said(v, KvHeads).heads, hd, hd, v.flag("qkv_bias"), v.flag("o_bias"), rotary_dim=hd))


def read_chatglm(v: View) -> Part:
    """KV heads from multi_query_group_num by a switch; RoPE on half of each head (ChatGLM2 and later)."""
    _plain_chatglm(v)
    d, heads, hd = v.count("hidden_size"), v.count("num_attention_heads"), v.count("head_dim")
    if heads * hd != d:
        raise contradiction(f"{heads} heads of kv_channels {hd} are not hidden_size {d}")
    grouped = v.flag("multi_query_attention")
    kv = v.count("multi_query_group_num") if grouped else heads
    v.derived("num_key_value_heads", kv, "multi_query_group_num" if grouped else "one KV head per query head")
    bias = v.flag("add_bias_linear")
    return gqa(Gqa(d, heads, kv, hd, hd, bias or v.flag("add_qkv_bias"), bias, rotary_dim=hd // 2))


def _plain_chatglm(v: View) -> None:
    """Refuse what would change weights or norms, and is in no published ChatGLM2, ChatGLM3 or GLM-4."""
    if v.opt("pre_seq_len") is not None:
        raise not_derivable("pre_seq_len is stated: the checkpoint holds a tuned prefix beside the model")
    if v.opt("quantization_bit"):
        raise not_derivable("quantization_bit is stated: the family packs its weights in a way of its own")
    if v.flag("apply_residual_connection_post_layernorm"):
        raise not_derivable("apply_residual_connection_post_layernorm is true: no published model has it")
    if not v.flag("rmsnorm"):
        raise not_derivable("rmsnorm is false: no published model has LayerNorm here")


def read_rotary_elements(v: View) -> Part:
    """Multi-head attention with biases; the config states how many elements of each head are rotated (Phi 1.5)."""
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    hd, rotated = head_dim(v, d, heads), v.count("rotary_dim")
    if rotated > hd:
        raise contradiction(f"rotary_dim {rotated} is more than a head of {hd}")
    return gqa(Gqa(d, heads, heads, hd, hd, v.flag("qkv_bias"), v.flag("o_bias"), rotary_dim=rotated))


MINICPMV = {"2.0": "minicpm", "2.5": "llama", "2.6": "qwen2", "4.0": "llama", "4.5": "qwen3"}
"""The language model inside each version of MiniCPM-V."""


def read_minicpmv(v: View) -> Part:
    """Attention of the language model that this version holds: llama's, Qwen2's with biases, or Qwen3's with norms."""
    version = _version(v)
    inner = MINICPMV.get(version)
    if inner is None:
        raise not_derivable(f"MiniCPM-V {version}: known are {', '.join(MINICPMV)}")
    v.derived("language_model", inner, f"MiniCPM-V {version}")
    d, heads = v.count("hidden_size"), v.count("num_attention_heads")
    kv, hd = v.count("num_key_value_heads"), head_dim(v, d, heads)
    if v.opt("use_sliding_window"):
        raise not_derivable("use_sliding_window is true: no published MiniCPM-V has it")
    bias = inner == "qwen2" or bool(v.opt("attention_bias"))
    norms = "head" if inner == "qwen3" else "none"
    return gqa(Gqa(d, heads, kv, hd, hd, bias, bias and inner != "qwen2", norms, rotary_dim=hd))


def _version(v: View) -> str:
    """As stated; the first two published files state none and are known by their width and their 64 queries."""
    stated = v.opt("version")
    if stated is not None:
        if type(stated) not in (int, float, str):
            raise bad_value("version", stated, "a version such as 2.6")
        return str(float(stated)) if type(stated) is not str else stated
    if v.count("hidden_size") == 2304 and v.count("query_num") == 64:
        return v.derived("version", "2.0", "none is stated; hidden_size 2304 with 64 queries is MiniCPM-V 1 or 2")
    if v.count("hidden_size") == 4096 and v.count("vocab_size") == 128256:
        return v.derived(
            "version", "2.5", "none is stated; 4096 wide with Llama 3's vocabulary is MiniCPM-Llama3-V 2.5"
        )
    raise not_derivable("no version is stated, and the widths are of no published MiniCPM-V")


OLMO = {
    "rope": True,
    "alibi": False,
    "attention_layer_norm": False,
    "layer_norm_with_affine": False,
    "include_bias": False,
}
"""How the switches stand in every published OLMo of this model_type."""


def read_hf_olmo(v: View) -> Part:
    """Plain or multi-query heads with RoPE; a switch that no published model sets so is refused (OLMo)."""
    wrong = next((k for k, value in OLMO.items() if v.flag(k) is not value), None)
    if wrong is not None or v.word("block_type") not in ("sequential", "llama") or v.word("layer_norm_type") == "rms":
        raise not_derivable(f"{wrong or 'block_type or layer_norm_type'} is not as in the published OLMo models")
    d, heads, stated = v.count("hidden_size"), v.count("num_attention_heads"), v.opt_count("n_kv_heads")
    kv = (1 if v.flag("multi_query_attention") else heads) if stated is None else stated
    v.derived(
        "num_key_value_heads", kv, "n_kv_heads; where it is null, 1 by multi_query_attention, else one per query head"
    )
    hd = head_dim(v, d, heads)
    return gqa(Gqa(d, heads, kv, hd, hd, rotary_dim=hd))
