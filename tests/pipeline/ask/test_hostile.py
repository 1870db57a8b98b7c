"""Files of strangers: GGUF and adapters that are cut short, lie, or go in circles; each an answer or a sentence."""

from __future__ import annotations

import json
import os
import random
import struct
from pathlib import Path
from typing import Any

import pytest
import weight_files
from weight_files import SMALL, WEIGHTS, adapter, gguf, key, shapes

from pipeline.ask.found import Asking
from pipeline.ask.resolver import resolve
from pipeline.cli import main
from pipeline.errors import AtlasError, Invalid, NotFound, Usage

OFFLINE = Asking(home=Path("nowhere"), offline=True)
K = "llama."


def fingerprint(path: Path) -> Any:
    """The row of what a path means."""
    return resolve(str(path), OFFLINE).derived.fingerprint


@pytest.mark.parametrize(
    ("numbers", "more", "says"),
    [
        ({"block_count": 2**32 - 1}, (), "must be between 1 and"),
        ({"block_count": 10**6}, (), "must be at most 4096"),
        ({"block_count": key(K + "block_count", -2, 5)}, (), "is -2"),
        ({"block_count": "two"}, (), "as no plain number"),
        ({"block_count": key(K + "block_count", True, 7)}, (), "as no plain number"),
        ({"attention.head_count": 0}, (), "is 0, but must be"),
        ({"attention.head_count_kv": None}, (), "describe 95,040 weights"),  # 2 layers x 64 x 32 more in K and in V
        ({"attention.head_count_kv": key(K + "attention.head_count_kv", struct.pack("<IQ2I", 4, 2, 2, 2), 9)}, (),
         "as no plain number"),
        ({"context_length": key(K + "context_length", 2**64 - 1, 10)}, (), "as no plain number"),
        ({"embedding_length": 2**31}, (), "more than can be stored"),
        ({}, (key(K + "rope.freq_base", float("nan"), 6),), "as no plain number"),
        ({}, (key(K + "rope.freq_base", -1.0, 6),), "rope_theta is -1.0"),
        ({}, (key(K + "vocab_size", 101),), "of another length"),
        ({}, (key(K + "attention.causal", False, 7),), "attention.causal"),
        ({}, (key(K + "expert_count", 8),), "expert_count"),
    ],
)  # fmt: skip
def test_metadata_that_describe_no_model_leave_the_weights(
    tmp_path: Path, numbers: dict[str, object], more: tuple[bytes, ...], says: str
) -> None:
    """Counts beyond any model, negative, of a wrong type, or against the table: exact weights, no cache, the reason."""
    f = fingerprint(gguf(tmp_path / "x.gguf", numbers=numbers, more=more))
    assert (f.verdict, f.params_checkpoint, f.params_total, f.kv_bytes_per_token) == ("measured", WEIGHTS, None, None)
    assert says in f.refusal_reason


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ({"tensors": {}}, "holds no tensor"),
        ({"tensors": {"a": (2**62, 2)}}, "a shape that its type cannot have"),
        ({"tensors": {"a": (2**61,)}}, "cut short"),
        ({"tensors": {"a": ()}}, "a shape that its type cannot have"),
        ({"tensors": {"a": (1, 1, 1, 1, 1)}}, "dimensions"),
        ({"more": (key("llama.block_count", 3),)}, "given twice"),
        ({"more": (key("general.alignment", 3),)}, "no power of two"),
        ({"more": (key("x", struct.pack("<IQ", 9, 1), 9),)}, "lists of lists"),
        ({"more": (key("x", struct.pack("<IQ", 4, 2**40), 9),)}, "the length of a list"),
        ({"more": (key("x", struct.pack("<IQ", 8, 7_999_999), 9),)}, "the length of a text"),
        ({"more": (key("x", b"", 13),)}, "the type of a value"),
        ({"more": (key("split.count", 3),)}, "its name does not say which"),
        ({"more": (key("split.count", 2**32 - 1),)}, "its name does not say which"),
    ],
)
def test_a_gguf_against_its_format_is_refused(tmp_path: Path, made: dict[str, Any], says: str) -> None:
    """No tensor, shapes and lists beyond the file, keys twice, a part without a name: exit code 3 and a sentence."""
    with pytest.raises(Invalid, match=says):
        resolve(str(gguf(tmp_path / "x.gguf", **made)), OFFLINE)


def test_a_gguf_cut_or_spoiled_anywhere_never_gives_another_number(tmp_path: Path) -> None:
    """Cut at any place it is refused; with bytes changed it is refused, or says what its own table adds up to."""
    good = gguf(tmp_path / "good.gguf").read_bytes()
    path, rng = tmp_path / "x.gguf", random.Random(5)
    for cut in range(0, 1500, 53):
        path.write_bytes(good[:cut])
        with pytest.raises(AtlasError):
            resolve(str(path), OFFLINE)
    head = good.index(b"output_norm.weight") + 40
    for _ in range(300):
        spoiled = bytearray(good)
        for _ in range(rng.choice((1, 1, 2, 4))):
            spoiled[rng.randrange(4, head)] = rng.randrange(256)
        path.write_bytes(spoiled)
        try:
            f = fingerprint(path)
        except AtlasError:
            continue
        if f.verdict == "assumed":  # the whole structure agrees with the table, so nothing that weighs was changed
            assert f.params_total == f.params_checkpoint


def test_a_split_gguf_is_all_its_files(tmp_path: Path) -> None:
    """Half of the tensors in each of two files: the weights of both; without one of them it is not found."""
    names = list(shapes())
    for i, part in enumerate((names[:10], names[10:]), 1):
        more = (key("split.count", 2), key("split.tensors.count", len(names)))
        gguf(tmp_path / f"m-{i:05}-of-00002.gguf", more=more, tensors={n: shapes()[n] for n in part})
    found = resolve(str(tmp_path), OFFLINE)
    assert (found.name, found.derived.fingerprint.params_total) == ("m", WEIGHTS)
    assert fingerprint(tmp_path / "m-00002-of-00002.gguf").params_checkpoint == WEIGHTS
    (tmp_path / "m-00002-of-00002.gguf").unlink()
    with pytest.raises(NotFound, match=r"m-00002-of-00002\.gguf is missing"):
        resolve(str(tmp_path / "m-00001-of-00002.gguf"), OFFLINE)


def test_a_folder_of_gguf_files(tmp_path: Path) -> None:
    """One model is read, an image's projector beside it is none; of two the names are said."""
    gguf(tmp_path / "a.gguf")
    (tmp_path / "mmproj-a.gguf").write_bytes(b"GGUF")
    assert fingerprint(tmp_path).params_total == WEIGHTS
    gguf(tmp_path / "b.gguf")
    with pytest.raises(Usage, match=r"2 GGUF models: name one of a\.gguf, b\.gguf"):
        resolve(str(tmp_path), OFFLINE)


def test_an_adapter_may_be_a_gguf(tmp_path: Path) -> None:
    """general.type says so: 8 x 64 + 64 x 8 weights of its own, no model, its base by name."""
    said = (key("general.type", "adapter"), key("adapter.type", "lora"), key("adapter.lora.alpha", 16.0, 6),
            key("general.base_model.0.repo_url", "https://huggingface.co/org/base"))  # fmt: skip
    lora = {"blk.0.attn_q.weight.lora_a": (64, 8), "blk.0.attn_q.weight.lora_b": (8, 64)}
    found = resolve(str(gguf(tmp_path / "x.gguf", more=said, tensors=lora)), OFFLINE)
    assert found.adapter is not None
    assert (found.adapter.method, found.adapter.alpha, found.adapter.params) == ("LORA", 16.0, 1024)
    assert found.adapter.base_model == "https://huggingface.co/org/base"
    f = found.derived.fingerprint
    assert (f.kind, f.verdict, f.params_checkpoint) == ("adapter", "measured", 1024)


def test_pipes_folders_and_links_in_circles_are_waited_for_by_nobody(tmp_path: Path) -> None:
    """A pipe named like a GGUF, a folder named like one, two links that lead to each other: a sentence each."""
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "folder.gguf").mkdir()
    (tmp_path / "one.gguf").symlink_to(tmp_path / "two.gguf")
    (tmp_path / "two.gguf").symlink_to(tmp_path / "one.gguf")
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "adapter_config.json").symlink_to(tmp_path / "loop" / "adapter_config.json")
    for name, error in (("pipe.gguf", NotFound), ("folder.gguf", Usage), ("one.gguf", NotFound), ("loop", Usage)):
        with pytest.raises(error):
            resolve(str(tmp_path / name), OFFLINE)


LORA = {"a.lora_A.weight": (8, 64)}


@pytest.mark.parametrize(
    ("config", "tells"),
    [
        ('{"peft_type": "LORA", "base_model_name_or_path": ["x"], "r": -8, "lora_alpha": NaN}', "a base that it does"),
        (f'{{"peft_type": "LORA", "r": {10**400}, "lora_alpha": {10**400}}}', "An adapter (LORA)"),
        ('{"peft_type": {"a": 1}, "r": true, "target_modules": {"a": 1}}', "An adapter (not stated)"),
        ('{"peft_type": "LORA", "model_type": "llama"}', "An adapter (LORA)"),
        ('{"peft_type": "LORA", "base_model_name_or_path": "\\u001b[31mx; rm -rf ~"}', r"atlas show '\x1b[31mx; rm"),
    ],
)
def test_an_adapter_of_odd_values_is_still_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str, tells: str
) -> None:
    """Values of wrong types are left out, its 8 x 64 weights are counted, and a base's name is quoted for shells."""
    folder = adapter(tmp_path / "mine", LORA)
    (folder / "adapter_config.json").write_text(config)
    assert main(["show", str(folder), "--home", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert tells in " ".join(out.split())
    assert "512" in out
    assert "\x1b" not in out
    assert main(["compare", str(folder), str(folder), "--home", str(tmp_path)]) == 3
    assert resolve(str(folder), OFFLINE).derived.fingerprint.kind == "adapter"


@pytest.mark.parametrize(
    "config",
    [
        b"",
        b"[1]",
        b"\xff\xfe",
        b'{"r": 8, "r": 9}',
        b'{"a":' * 3000 + b"1" + b"}" * 3000,
        b'"' + b"x" * 6_000_000 + b'"',
    ],
)
def test_an_adapters_config_that_is_none_is_refused(tmp_path: Path, config: bytes) -> None:
    """Empty, a list, no text, a key twice, too deep, too large: refused (3), never an adapter with numbers."""
    folder = adapter(tmp_path / "mine", LORA)
    (folder / "adapter_config.json").write_bytes(config)
    assert main(["inspect", str(folder), "--json", "--home", str(tmp_path)]) == 3
    assert resolve(str(folder), OFFLINE).derived.fingerprint.params_checkpoint is None


@pytest.mark.parametrize(
    "weights",
    [
        b"",
        (2**40).to_bytes(8, "little") + b"{}",
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}'.ljust(60) + bytes(4),
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"Q9","shape":[1],"data_offsets":[0,4]}}'.ljust(60) + bytes(4),
    ],
)
def test_an_adapters_weights_that_lie_are_damage(tmp_path: Path, weights: bytes) -> None:
    """An empty file, a header longer than the file, a negative length, a type that does not exist: exit code 3."""
    folder = adapter(tmp_path / "mine", peft_type="LORA")
    (folder / "adapter_model.safetensors").write_bytes(weights)
    assert main(["show", str(folder), "--home", str(tmp_path)]) == 3


def test_a_merged_checkpoint_beside_its_adapters_config_is_a_model(tmp_path: Path) -> None:
    """A config.json makes a folder a checkpoint, whatever else lies there."""
    folder = adapter(tmp_path / "mine", peft_type="LORA")
    (folder / "config.json").write_text(json.dumps(SMALL))
    assert fingerprint(folder).params_total == WEIGHTS


def test_the_cache_on_disk_has_adapters_and_gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository without a config, as huggingface_hub's cache holds it, is what its files are."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for repo in ("models--org--lora", "models--org--quants"):
        folder = tmp_path / repo / "snapshots" / ("a" * 40)
        folder.mkdir(parents=True)
        (tmp_path / repo / "refs").mkdir()
        (tmp_path / repo / "refs" / "main").write_text("a" * 40)
    adapter(tmp_path / "models--org--lora" / "snapshots" / ("a" * 40), LORA, peft_type="LORA")
    gguf(tmp_path / "models--org--quants" / "snapshots" / ("a" * 40) / "x.gguf")
    lora, quants = resolve("org/lora", OFFLINE), resolve("org/quants", OFFLINE)
    assert (lora.name, lora.adapter is not None, lora.source) == (
        "org/lora",
        True,
        "huggingface_hub's cache at aaaaaaaa",
    )
    assert (quants.name, quants.derived.fingerprint.params_total) == ("org/quants", WEIGHTS)


def test_the_hand_count_of_the_small_model() -> None:
    """Two tables of 6,400; each layer 2 x 4,096 + 2 x 2,048 + 3 x 8,192 + 2 x 64; the last norm 64."""
    assert weight_files.WEIGHTS == 2 * 6_400 + 2 * (8_192 + 4_096 + 24_576 + 128) + 64 == 86_848
