"""Holding the atlas against reference figures made from transformers' own modules (see the shared oracle's README)."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import costs

from atlas.interpret import derive
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.measure import component, model_ledger
from schemas.vocabulary import Component

COLUMNS = {
    "attention": "attention",
    "embedding": "embedding",
    "embedding_other": "embedding",
    "unembedding": "unembedding",
    "dense_ffn": "ffn_dense",
    "routed_experts": "experts_routed",
    "shared_experts": "experts_shared",
    "router": "router",
    "norm": "norm",
    "linear_attention": "recurrent",
    "other": "other",
}
"""Ledger categories of the reference, and the components of the contract they belong to; towers stand apart."""

BROADCAST = {"tiiuae--falcon-40b"}
"""Files whose reference cache holds K and V copied to every query head; the contract counts what the weights make.

transformers 5.24, modeling_falcon.py, FalconAttention._split_heads broadcasts the 8 KV heads to 128 before they are
cached.
"""

STORED_TWICE = dict.fromkeys(
    ("deepseek-ai--DeepSeek-V4-Flash", "RedHatAI--DeepSeek-V4-Flash-NVFP4-FP8", "nvidia--DeepSeek-V4-Flash-NVFP4"),
    2 * 512 * 2,
)
"""Bytes of the reference cache that are the same tensor under two names: layers 0 and 1, 512 elements of 2 bytes each.

transformers 5.24, modeling_deepseek_v4.py: attention hands one entry over as key and as value; only the caches of
layers with a compressor keep it once.
"""

BOOKED_ELSEWHERE = {
    # modeling_openai.py: `positions_embed` is a table of positions, which the contract counts as embedding; the
    # reference says "other".
    "openai-gpt": ("params_embedding", "params_other"),
    # modeling_t5gemma.py: `_tied_weights_keys` ties the head to the decoder's table, which the reference books as
    # the head's.
    "t5gemma": ("params_embedding", "params_unembedding", "tied"),
    # modeling_encoder_decoder.py: `get_input_embeddings` is the encoder's table, so that the reference books the
    # decoder's, to which the head is tied, as the head's.
    "encoder-decoder": ("params_embedding", "params_unembedding", "tied"),
    # modeling_kosmos2_5.py: `segment_emb` tells text from image, a table of token types, which the contract counts as
    # embedding; the reference says "other".
    "kosmos-2.5": ("params_embedding", "params_other"),
    # modeling_blip_text.py: `_tied_weights_keys` ties the head, whose bias the contract counts with it; the reference
    # says untied, and "other".
    "blip": ("params_unembedding", "params_other", "tied"),
}
"""Components that the contract books otherwise than the reference; the totals agree all the same."""

TOWERS_INSIDE = {
    "blip-2": 24_576,  # query_tokens, 32 x 768, before the Q-Former
    "instructblip": 24_576,
    "instructblipvideo": 24_576,
    "janus": 131_072 + 4_196_352,  # the image generator's codes, 16,384 x 8, and a part of its aligner and head
    "granite_speech": 274_808_106,  # model.encoder
    "granite_speech_plus": 274_808_106,
    "vision-encoder-decoder": 86_389_248 - 590_592,  # encoder, of which the patches are booked as a tower
    "speech-encoder-decoder": 94_371_712 - 395_008,  # encoder, of which one matrix is booked as a projector
    # model.word_timestamp_encoder and word_timestamp_head
    "nemo_speechlm": 19_684_480 + 30_544_640 + 23_863,
    "vibevoice_asr": 344_613_600,  # model.semantic_tokenizer_encoder
    # model.semantic_tokenizer_encoder, model.diffusion_head without a table of times booked as a tower, two factors
    "vibevoice": 344_613_600 + 496_517_120 - 262_144 + 2,
}
"""Elements outside model.language_model and lm_head that the reference, by their names, counts to the language model.

Taken from named_parameters() of transformers 5.24's modules of the library default.
"""

BY_NAME = {"fsmt": ("embedding", 42_024 * 1_024), "gemma4_unified_assistant": ("other", 3 * 2_304 * 3_840)}
"""Elements of the language model that the reference takes for a projector, by their name.

transformers 5.24, modeling_fsmt.py: FSMTDecoder.output_projection, one of three matrices of vocabulary by width;
modeling_gemma4_unified_assistant.py: pre_projection and post_projection, from and to the width of the target.
"""

MASKED = {"gpt_neo": 12 * 4096 * 2}
"""Bytes per token that the reference caches behind a mask: 12 of 24 layers look back 256 tokens, 4,096 elements each.

transformers 5.24, modeling_gpt_neo.py: GPTNeoSelfAttention masks local layers to window_size and caches them whole;
the contract counts what a window of W holds, min(T, W).
"""

NOT_SEEN = {"minimax": 16 * 32 * 128 * 128 * 2}
"""Bytes of state that the reference measure does not see: 16 lightning layers, 32 squares of 128, 2 bytes an element.

transformers 5.24, modeling_minimax.py: MiniMaxCache holds them in a list of its own, `linear_cache`.
"""


class Outcome(NamedTuple):
    """One file held against its record: exact, wrong (with the differences), refused, or without a reference."""

    name: str
    model_type: str
    status: str
    differences: tuple[str, ...]
    fingerprint: Fingerprint


def records(shared: Path, which: str) -> list[dict[str, Any]]:
    """The reference records of "published" or "defaults"."""
    return [json.loads(line) for line in (shared / "oracle" / f"{which}.jsonl").read_text("utf-8").splitlines()]


def hold(shared: Path, which: str, record: dict[str, Any]) -> Outcome:
    """Derive one file and compare it with its record."""
    folder = {"published": "configs", "defaults": "defaults"}[which]
    raw = (shared / "hub" / folder / f"{record['name']}.json").read_bytes()
    found = derive(raw, name=record["name"]).fingerprint
    model_type = record.get("model_type") or "(none)"
    if found.verdict == "refused":
        return Outcome(record["name"], model_type, "refused", (f"{found.refusal_kind}: {found.refusal_reason}",), found)
    if record["status"] != "ok":
        return Outcome(record["name"], model_type, "no reference", (), found)
    differences = compared(found, record)
    return Outcome(record["name"], model_type, "wrong" if differences else "exact", differences, found)


MOVING = ("e_score_correction_bias", "balancing_biases")
"""Ends of the names of biases that move tokens between experts."""


def stored_buffers(shared: Path, which: str, record: dict[str, Any]) -> int:
    """Buffers that a checkpoint of one file holds, with the biases that the contract counts with the router.

    Those of the language model alone where its towers are not understood.
    """
    model = costs.model_of(found := costs.config(shared, which, record["name"]))
    row = found.fingerprint
    assert (row.params_buffers is None) is (row.params_towers is None)
    buffers = component(model_ledger(model), Component.BUFFERS) if row.params_buffers is None else row.params_buffers
    tensors = [(n, t) for each, n in model.counted().items() for p in each.parts for t in p.tensors]
    routers = [(n, t) for n, t in tensors if t.component is Component.ROUTER]  # drafting layers are not built there
    biases = [n * t.stored * t.elements for n, t in routers if t.name.endswith(MOVING)]
    return buffers + sum(biases)


def compared(found: Fingerprint, record: dict[str, Any]) -> tuple[str, ...]:
    """What a row says otherwise than its record."""
    elsewhere = BOOKED_ELSEWHERE.get(record["name"], ("-",))
    return (*(d for d in _weights(found, record) if not d.startswith(elsewhere)), *_cache(found, record))


def _weights(found: Fingerprint, record: dict[str, Any]) -> list[str]:
    wanted: dict[str, int] = defaultdict(int)
    for category, n in record["params"]["by"].items():
        if category in COLUMNS:
            wanted[COLUMNS[category]] += n
    booked, misnamed = BY_NAME.get(record["name"], ("other", 0))
    wanted[booked] += misnamed
    got = {c: getattr(found, f"params_{c}") for c in set(COLUMNS.values())}
    buffers = record["params"]["persistent_buffers"]
    wanted["router"] = _with_corrections(got["router"], wanted["router"], buffers)
    inside = TOWERS_INSIDE.get(record["name"], 0)
    if sum(wanted.values()) - sum(got.values()) == inside and all(wanted[c] >= got[c] for c in got):
        wanted |= {c: got[c] for c in got} if inside else {}
    differences = [f"params_{c} {got[c]:,}, reference {wanted[c]:,}" for c in sorted(got) if got[c] != wanted[c]]
    corrections = wanted["router"] - record["params"]["by"].get("router", 0)
    total = record["params"]["lm"] + corrections + misnamed - inside
    if found.params_total != total:
        differences.append(f"params_total {found.params_total:,}, reference {total:,}")
    has_head = not record["cls"].endswith("Model")
    if has_head and bool(found.tie_word_embeddings) != bool(record["tied"]):
        differences.append(f"tied {found.tie_word_embeddings}, reference {record['tied']}")
    return differences


def _with_corrections(got: int, wanted: int, buffers: int) -> int:
    """Correction biases: buffers in the reference, weights in the contract, where the record has buffers."""
    return got if 0 <= got - wanted <= buffers else wanted


def _cache(found: Fingerprint, record: dict[str, Any]) -> list[str]:
    kv = record.get("kv") or {}
    if "bytes_per_token_growing" not in kv or record["name"] in BROADCAST or found.kv_bytes_per_token is None:
        return []
    index = found.index_bytes_per_token or 0
    pairs = {
        "growing": (found.kv_bytes_per_token + index, kv["bytes_per_token_growing"] - MASKED.get(record["name"], 0)),
        "below every window": (
            (found.kv_bytes_per_token_first or 0) + index,
            kv["bytes_per_token_below_window"] - STORED_TWICE.get(record["name"], 0),
        ),
        "fixed": (found.state_bytes_constant, kv["fixed_state_bytes"] + NOT_SEEN.get(record["name"], 0)),
    }
    return [f"cache {k} {got:,}, reference {want:,}" for k, (got, want) in pairs.items() if got != want]
