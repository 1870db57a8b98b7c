"""Files of weights written by hand after their formats' descriptions: small, and as wrong as a test wants them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SMALL: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "max_position_embeddings": 512, "tie_word_embeddings": False,
}  # fmt: skip
WEIGHTS = 2 * 100 * 64 + 2 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 128 + 2 * 64) + 64
"""Two tables; in each layer q and o, k and v, three matrices of the network, two norms; the last norm: 86,848."""

NUMBERS: dict[str, int] = {
    "block_count": 2, "embedding_length": 64, "feed_forward_length": 128, "context_length": 512,
    "attention.head_count": 4, "attention.head_count_kv": 2,
}  # fmt: skip
"""What a GGUF's metadata say of the small model."""


def shapes() -> dict[str, tuple[int, ...]]:
    """The tensors of the small model as a GGUF names them, the fastest dimension first."""
    found: dict[str, tuple[int, ...]] = {"token_embd.weight": (64, 100), "output.weight": (64, 100)}
    for i in range(2):
        found |= {f"blk.{i}.{n}.weight": s for n, s in {
            "attn_q": (64, 64), "attn_output": (64, 64), "attn_k": (64, 32), "attn_v": (64, 32), "ffn_gate": (64, 128),
            "ffn_up": (64, 128), "ffn_down": (128, 64), "attn_norm": (64,), "ffn_norm": (64,)}.items()}  # fmt: skip
    return found | {"output_norm.weight": (64,)}


def text(value: str) -> bytes:
    """A text of a GGUF: its length, then UTF-8."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def key(name: str, value: object, kind: int | None = None) -> bytes:
    """A key of a GGUF: a text, or a number as u32 unless another type is named."""
    if isinstance(value, bytes):
        return text(name) + struct.pack("<I", kind or 0) + value
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 8) + text(value)
    form = {4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}[kind or 4]
    return text(name) + struct.pack("<I", kind or 4) + struct.pack(form, value)


def gguf(
    path: Path,
    *,
    architecture: str = "llama",
    numbers: Mapping[str, object] | None = None,
    more: tuple[bytes, ...] = (),
    tensors: Mapping[str, tuple[int, ...]] | None = None,
) -> Path:
    """A GGUF of the small model at F16; `numbers` replace those of its metadata, `more` are further keys."""
    said = {**NUMBERS, **(numbers or {})}
    keys = [key("general.architecture", architecture)]
    keys += [v if isinstance(v, bytes) else key(f"{architecture}.{k}", v) for k, v in said.items() if v is not None]
    keys += more
    table, end = b"", 0
    held = shapes() if tensors is None else tensors
    for name, shape in held.items():
        table += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", 1, end)
        end += -(-2 * math.prod(shape) // 32) * 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(held), len(keys)) + b"".join(keys) + table
    path.write_bytes(head + bytes(-len(head) % 32) + bytes(end if end < 2**24 else 0))
    return path


def safetensors(path: Path, tensors: Mapping[str, tuple[int, ...]]) -> Path:
    """A file whose header lists bf16 tensors, with as many bytes as they take."""
    header, end = {}, 0
    for name, shape in tensors.items():
        size = 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    raw = json.dumps(header).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + bytes(end))
    return path


def adapter(folder: Path, tensors: Mapping[str, tuple[int, ...]] | None = None, **config: Any) -> Path:
    """A folder with an adapter's config, and its weights where they are given."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(config))
    if tensors is not None:
        safetensors(folder / "adapter_model.safetensors", tensors)
    return folder
