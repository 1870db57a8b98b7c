"""MiMo-V2's windowed attention: heads under swa_ keys, and twice the full layers' KV heads where none are stated."""

from __future__ import annotations

from atlas.numbers.structure import Part
from atlas.parts.attention import Gqa, gqa, rotary_dim
from atlas.reading.config import View


def read_window(v: View) -> Part:
    """The windowed layers' attention as the config states it."""
    kv = v.opt_count("swa_num_key_value_heads")
    if kv is None:
        kv = v.derived("swa_num_key_value_heads", 2 * v.count("num_key_value_heads"), "twice the full layers' KV heads")
    width = v.opt_count("swa_head_dim") or v.count("head_dim")
    values = v.opt_count("swa_v_head_dim") or v.count("v_head_dim")
    heads = v.opt_count("swa_num_attention_heads") or v.count("num_attention_heads")
    return gqa(
        Gqa(
            v.count("hidden_size"),
            heads,
            kv,
            width,
            values,
            v.flag("qkv_bias"),
            v.flag("o_bias"),
            sinks=v.flag("sinks"),
            mixer=v.text("mixer"),
            window=v.count("window"),
            position="rope",
            rotary_dim=rotary_dim(v, width),
        )
    )
