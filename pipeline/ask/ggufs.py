"""A GGUF by its metadata and table of tensors: one file, or the files that one model was split into."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from atlas.derived import Derived
from atlas.interpret import derive, refusal
from atlas.numbers.fingerprint import Evidence
from atlas.numbers.storage import Storage, StoredRow
from atlas.refusal import Refused
from pipeline.ask.found import Adapter, Found
from pipeline.errors import Invalid, NotFound, Usage
from pipeline.sources import disk, gguf
from pipeline.text import terminal
from schemas.vocabulary import Check, ModelKind, Origin, RefusalKind, Verdict

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
_UNREADABLE = (
    "expert_count", "attention.sliding_window", "rope.scaling.type", "attention.key_length_mla", "attention.causal",
    "pooling_type",
)  # fmt: skip
"""Keys that say more of a model than the plain decoder that is read here."""
_BESIDE = "rope_freqs.weight"
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


def models(folder: Path) -> list[Path]:
    """The models among the GGUF files of a folder, a split one by its first file; projectors of images are none."""
    found = sorted(p for p in folder.glob("*.gguf") if p.is_file() and not p.name.startswith("mmproj"))
    return [p for p in found if (part := _PART.search(p.name)) is None or int(part[1]) == 1]


def only(folder: Path) -> Path:
    """The one model of a folder of GGUF files. Raises `Usage` where there are several."""
    found = models(folder)
    if len(found) != 1:
        said = ", ".join(terminal(p.name) for p in found[:5]) + (" ..." if len(found) > 5 else "")
        raise Usage(f"{terminal(str(folder))} holds {len(found)} GGUF models: name one of {said}")
    return found[0]


def of_file(path: Path) -> Found:
    """A GGUF: what its table holds, and a structure where metadata and table agree to the weight.

    Raises `NotFound` or `Invalid` for a file that is damaged, keeps not to the format, or is part of a model whose
    other files are not beside it.
    """
    table, name = _whole(path), _PART.sub("", disk.shown(path).removesuffix(".gguf") + ".gguf").removesuffix(".gguf")
    weights = sum(_elements(t) for n, t in table.tensors.items() if n != _BESIDE)
    found = _structure(table, name, weights)
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
    made = msgspec.structs.replace(found, fingerprint=row, stored=_stored(table), evidence=(*found.evidence, *counted))
    adapter = _adapter(table, weights)
    if adapter is not None:
        row = msgspec.structs.replace(made.fingerprint, kind=ModelKind.ADAPTER.value)
        made = msgspec.structs.replace(made, fingerprint=row)
    return Found(name=name, source=str(path), path=str(path), adapter=adapter, made=made)


_AN_ADAPTER = "an adapter and no model: its base has the cache and the cost"


def _adapter(table: gguf.Table, weights: int) -> Adapter | None:
    """What the metadata say of an adapter; None for a model."""
    said = table.metadata
    if said.get("general.type") != "adapter":
        return None
    base = next((v for k in _BASES if isinstance(v := said.get(k), str) and v), None)
    alpha = said.get("adapter.lora.alpha")
    return Adapter(
        method=str(said.get("adapter.type", "not stated")).upper()[:60],
        base_model=None if base is None else base[:200],
        alpha=alpha if isinstance(alpha, float) and math.isfinite(alpha) else None,
        params=weights,
        bytes=table.tensor_bytes,
        tensors=len(table.tensors),
    )


_BASES = ("general.base_model.0.repo_url", "general.base_model.0.name", "general.basename")


def _whole(path: Path) -> gguf.Table:
    """The head of a file; of one of several of a model, the heads of all. Raises `NotFound`, `Invalid`."""
    table = gguf.read(path)
    if not table.tensors:
        raise Invalid(f"{terminal(path.name)} holds no tensor: it is a vocabulary or the rest of a damaged file")
    count = table.metadata.get("split.count", 0)
    if not isinstance(count, int) or count <= 1:
        return table
    part = _PART.search(path.name)
    if part is None or int(part[2]) != count:
        raise Invalid(f"{terminal(path.name)} is one of {count:,} files of a model, and its name does not say which")
    names = [f"{path.name[: part.start()]}-{i:05}-of-{count:05}.gguf" for i in range(1, count + 1)]
    return _joined([table if n == path.name else _part(path.with_name(n), count) for n in names])


def _part(path: Path, count: int) -> gguf.Table:
    if not path.is_file():
        raise NotFound(f"{terminal(path.name)} is missing: the model was split into {count:,} files")
    return gguf.read(path)


def _joined(parts: Sequence[gguf.Table]) -> gguf.Table:
    """One table of all parts, under the metadata of the first. Raises `Invalid` where they are not of one model."""
    tensors: dict[str, gguf.Tensor] = {}
    for part in parts:
        twice = tensors.keys() & part.tensors.keys()
        if twice:
            raise Invalid(f"the tensor {terminal(min(twice)[:60])!r} stands in two files of the split model")
        tensors |= part.tensors
    stated = parts[0].metadata.get("split.tensors.count", len(tensors))
    if stated != len(tensors):
        raise Invalid(f"the files of the split model hold {len(tensors):,} tensors, and it states {stated}")
    return parts[0]._replace(tensors=tensors, data_bytes=sum(p.data_bytes for p in parts))


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


def _structure(table: gguf.Table, name: str, weights: int) -> Derived:
    """The plain decoder that the metadata describe; a refusal with its reason unless its weights are the table's."""
    if table.metadata.get("general.type") == "adapter":
        return refusal(Refused(RefusalKind.ADAPTER, _AN_ADAPTER), name, None)
    config = _config(table)
    if isinstance(config, str):
        return _nothing(name, config)
    found = derive(config, name=name)
    if found.model is None:
        return _nothing(name, f"its metadata describe no {config['model_type']}: {found.fingerprint.refusal_reason}")
    total = found.fingerprint.params_total
    if total != weights:
        return _nothing(name, f"its metadata describe {total:,} weights, and its table holds {weights:,}")
    doubt = (
        f"assumed: read from the file's metadata as a plain {config['model_type']}, whose {weights:,} weights are those"
        " of its table; what metadata does not say (a window, a scaling) is taken as absent"
    )
    row = msgspec.structs.replace(found.fingerprint, doubt=doubt, check=Check.EXACT.value)
    return msgspec.structs.replace(found, fingerprint=row)


def _nothing(name: str, why: str) -> Derived:
    said = f"a GGUF gives its weights; a cache and a cost it does not: {why}"
    return refusal(Refused(RefusalKind.NOT_DERIVABLE, said), name, None)


def _config(table: gguf.Table) -> dict[str, Any] | str:
    """The config that the metadata amount to; else why they amount to none."""
    kind = table.metadata.get("general.architecture")
    if not isinstance(kind, str) or kind not in _CLASSES:
        said = repr(kind[:60]) if isinstance(kind, str) else "not stated"
        return f"its architecture is {said}, and the metadata of {', '.join(_CLASSES)} are read"
    more = [k for k in _UNREADABLE if f"{kind}.{k}" in table.metadata]
    if more:
        return f"its metadata state {kind}.{more[0]}, which the plain decoder that is read here has not"
    stated = {hf: table.metadata.get(f"{kind}.{key}") for key, hf in _KEYS.items()}
    odd = [k for k, v in stated.items() if not _is_number(v)]
    if odd:
        return f"its metadata give {odd[0]} as no plain number"
    embedding = table.tensors.get("token_embd.weight")
    if embedding is None or table.metadata.get(f"{kind}.vocab_size", embedding.shape[0]) != embedding.shape[0]:
        return "its table of tokens is not there, or of another length than its metadata say"
    return _as_config(kind, stated, table)


def _is_number(value: object) -> bool:
    """A whole number of the size that configs have, a finite fraction, or nothing."""
    if type(value) is int:
        return abs(value) < 2**53
    return value is None or (type(value) is float and math.isfinite(value))


def _as_config(kind: str, stated: Mapping[str, Any], table: gguf.Table) -> dict[str, Any]:
    config = {k: v for k, v in stated.items() if v is not None}
    config |= {"model_type": kind, "architectures": [_CLASSES[kind]]}
    config["vocab_size"] = table.tensors["token_embd.weight"].shape[0]
    config["tie_word_embeddings"] = "output.weight" not in table.tensors
    if kind != "qwen2":  # whose class has its biases without a key
        config["attention_bias"] = "blk.0.attn_q.bias" in table.tensors
    return config
