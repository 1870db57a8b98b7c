"""Files of weights that stand alone: a GGUF by its metadata and table of tensors, a safetensors file by its header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from atlas.checkpoint.header import apart_of
from atlas.derived import Derived
from atlas.interpret import derive, refusal
from atlas.numbers.fingerprint import Evidence
from atlas.numbers.storage import Storage, StoredRow
from atlas.refusal import Refused
from pipeline.ask.found import Found
from pipeline.sources import beside, disk, gguf, headers
from schemas.vocabulary import Check, Origin, RefusalKind, Verdict

_CLASSES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
"""Architectures of GGUF whose metadata say all that a config of that class does."""

_KEYS = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "rope.freq_base": "rope_theta",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
}
_UNREADABLE = ("expert_count", "attention.sliding_window", "rope.scaling.type", "attention.key_length_mla")
"""Keys that say more of a model than the plain decoder that is read here."""
_BESIDE = "rope_freqs.weight"


def of_gguf(path: Path) -> Found:
    """A GGUF: what its table holds, and a structure where metadata and table agree to the weight.

    Raises `NotFound` or `Invalid` for a file that is damaged or keeps not to the format.
    """
    table, name = gguf.read(path), disk.shown(path).removesuffix(".gguf")
    stored = _stored(table)
    weights = sum(_elements(t) for n, t in table.tensors.items() if n != _BESIDE)
    found = _structure(table, name, weights)
    rest = "what its metadata says of the structure is not read" if found is None else ""
    if found is None:
        architecture = str(table.metadata.get("general.architecture", "not stated"))[:60]
        why = f"a GGUF of architecture {architecture}: {rest}, so there is no cache and no cost"
        found = refusal(Refused(RefusalKind.NOT_DERIVABLE, why), name, None)
    row = msgspec.structs.replace(
        found.fingerprint,
        verdict=(Verdict.MEASURED if found.model is None else Verdict.ASSUMED).value,
        quant_method="gguf",
        params_checkpoint=weights,
        weight_bytes_checkpoint=table.tensor_bytes,
    )
    counted = tuple(
        Evidence(field, value, Origin.HEADER.value, "counted in the file's table of tensors")
        for field, value in (("params_checkpoint", weights), ("weight_bytes_checkpoint", table.tensor_bytes))
    )
    made = msgspec.structs.replace(found, fingerprint=row, stored=stored, evidence=(*found.evidence, *counted))
    return Found(name=name, source=str(path), path=str(path), made=made)


def _elements(t: gguf.Tensor) -> int:
    n = 1
    for length in t.shape:
        n *= length
    return n


def _stored(table: gguf.Table) -> Storage:
    """One row a type, of the table itself."""
    types = sorted({t.type.name for t in table.tensors.values()})
    rows = tuple(
        StoredRow(
            group="language_model",
            scheme="gguf",
            dtype=kind,
            tensors=len(these := [t for t in table.tensors.values() if t.type.name == kind]),
            elements=sum(map(_elements, these)),
            bytes=sum(t.bytes for t in these),
            evidence="header",
        )
        for kind in types
    )
    return Storage(rows=rows, bytes=table.tensor_bytes, evidence="header")


def _structure(table: gguf.Table, name: str, weights: int) -> Derived | None:
    """The plain decoder that the metadata describe; None unless its weights are those of the table, all of them."""
    config = _config(table)
    if config is None:
        return None
    found = derive(config, name=name)
    if found.model is None or found.fingerprint.params_total != weights:
        return None
    doubt = (
        f"assumed: read from the file's metadata as a plain {config['model_type']}, whose {weights:,} weights are those"
        " of its table; what metadata does not say (a window, a scaling) is taken as absent"
    )
    row = msgspec.structs.replace(found.fingerprint, doubt=doubt, check=Check.EXACT.value)
    return msgspec.structs.replace(found, fingerprint=row)


def _config(table: gguf.Table) -> dict[str, Any] | None:
    kind = table.metadata.get("general.architecture")
    if not isinstance(kind, str) or kind not in _CLASSES or any(f"{kind}.{k}" in table.metadata for k in _UNREADABLE):
        return None
    stated = {hf: table.metadata.get(f"{kind}.{key}") for key, hf in _KEYS.items()}
    embedding = table.tensors.get("token_embd.weight")
    if embedding is None or not all(type(v) in (int, float, type(None)) for v in stated.values()):
        return None
    config: dict[str, Any] = {k: v for k, v in stated.items() if v is not None}
    config |= {"model_type": kind, "architectures": [_CLASSES[kind]], "vocab_size": embedding.shape[0]}
    config["tie_word_embeddings"] = "output.weight" not in table.tensors
    if kind != "qwen2":  # whose class has its biases without a key
        config["attention_bias"] = "blk.0.attn_q.bias" in table.tensors
    return config


def of_safetensors(path: Path) -> Found:
    """A lone file: its weights by its header, without a structure. Raises `NotFound` or `Invalid`."""
    name, found = disk.shown(path).removesuffix(".safetensors"), headers.local(path)
    apart = {apart_of(n, e) for n, e in found.listing.items()}
    part = " and perhaps one of several files of a model" if "-of-" in path.name else ""
    why = f"a file of weights without a config{part}: shapes alone give no structure, no cache and no cost"
    nothing = refusal(Refused(RefusalKind.NOT_DERIVABLE, why), name, None)
    made = beside.weighed(nothing, {}, beside.Beside({}, beside.files_of(found)))
    note = "it holds more than the language model" if apart - {None} else None
    return Found(name=name, source=str(path), path=str(path), made=made, note=note)
