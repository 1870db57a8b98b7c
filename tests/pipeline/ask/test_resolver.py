"""A MODEL by any name: the order of places, files of weights, adapters, the cache on disk, the Hub."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hub_server import HubServer, Population, Repo
from weight_files import SMALL, WEIGHTS, gguf, safetensors, shapes

from pipeline.ask import resolver
from pipeline.ask.found import Asking
from pipeline.cli import main
from pipeline.errors import Invalid, NotFound, Upstream, Usage
from pipeline.hub import single


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the cache of whoever runs it, or asks the Hub."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "")


def asking(tmp_path: Path, **more: object) -> Asking:
    """Nothing but the catalogue, offline unless said otherwise."""
    return Asking(**{"home": tmp_path / "home", "offline": True} | more)  # pyright: ignore[reportArgumentType]


def cached(tmp_path: Path, repo: str, sha: str, config: object = SMALL) -> Path:
    """A repository as huggingface_hub's cache holds it."""
    folder = tmp_path / "cache" / f"models--{repo.replace('/', '--')}"
    (folder / "snapshots" / sha).mkdir(parents=True)
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text(sha)
    (folder / "snapshots" / sha / "config.json").write_text(json.dumps(config))
    return folder / "snapshots" / sha


def test_a_gguf_gives_weights_bytes_and_a_structure_that_agrees(tmp_path: Path) -> None:
    """Weights by its table; the plain decoder of its metadata has as many, so its cache is 2 x 2 x 2 x 16 x 2 bytes."""
    gguf(tmp_path / "small.gguf")
    f = resolver.resolve(str(tmp_path / "small.gguf"), asking(tmp_path)).derived.fingerprint
    assert (f.repo_id, f.verdict, f.check) == ("small", "assumed", "exact")
    assert (f.params_total, f.params_checkpoint, f.weight_bytes_checkpoint) == (WEIGHTS, WEIGHTS, 2 * WEIGHTS)
    assert f.kv_bytes_per_token == 2 * 2 * 2 * 16 * 2


@pytest.mark.parametrize("missing", [None, "blk.1.ffn_up.weight"])
def test_a_gguf_that_is_not_read_is_measured(tmp_path: Path, missing: str | None) -> None:
    """Another architecture, or a table with another total: exact weights, no structure, and a reason."""
    held = {n: s for n, s in shapes().items() if n != missing}
    gguf(tmp_path / "small.gguf", architecture="llama" if missing else "other", tensors=held)
    f = resolver.resolve(str(tmp_path / "small.gguf"), asking(tmp_path)).derived.fingerprint
    left = 64 * 128 if missing else 0
    assert (f.verdict, f.params_checkpoint, f.params_total) == ("measured", WEIGHTS - left, None)
    assert "GGUF" in (f.refusal_reason or "")


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    """A GGUF cut short, one with two million tensors, an adapter whose header lies: refused in a sentence."""
    gguf(tmp_path / "a.gguf")
    (tmp_path / "cut.gguf").write_bytes((tmp_path / "a.gguf").read_bytes()[:200])
    (tmp_path / "many.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2_000_000, 1))
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    (folder / "adapter_model.safetensors").write_bytes((2**40).to_bytes(8, "little") + b"{}")
    for path in (tmp_path / "cut.gguf", tmp_path / "many.gguf", folder):
        with pytest.raises(Invalid):
            resolver.resolve(str(path), asking(tmp_path))


def test_an_adapter_is_named_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rank 8 on a 64 by 64 matrix stores 8 x 64 + 64 x 8 weights; base, rank and targets are said."""
    folder = tmp_path / "mine"
    folder.mkdir()
    config = {"peft_type": "LORA", "base_model_name_or_path": "org/base", "r": 8, "lora_alpha": 16,
              "target_modules": ["q_proj"]}  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(config))
    safetensors(folder / "adapter_model.safetensors", {"a.lora_A.weight": (8, 64), "a.lora_B.weight": (64, 8)})
    found = resolver.resolve(str(folder), asking(tmp_path))
    assert found.adapter is not None
    assert (found.adapter.base_model, found.adapter.rank, found.adapter.targets) == ("org/base", 8, ("q_proj",))
    assert (found.adapter.params, found.adapter.bytes) == (1024, 2048)
    assert (found.derived.fingerprint.kind, found.derived.fingerprint.verdict) == ("adapter", "measured")
    assert main(["inspect", str(folder)]) == 0
    assert "An adapter (LORA) of org/base" in capsys.readouterr().out
    with pytest.raises(Usage):
        found.what_if(["r=4"])


def test_a_lone_file_of_weights_is_measured(tmp_path: Path) -> None:
    """Without a config beside it: its weights, and that shapes give no structure."""
    safetensors(tmp_path / "x.safetensors", {"w.weight": (4, 8)})
    f = resolver.resolve(str(tmp_path / "x.safetensors"), asking(tmp_path)).derived.fingerprint
    assert (f.verdict, f.params_checkpoint, f.weight_bytes_checkpoint) == ("measured", 32, 64)


def test_the_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path first, then the atlas, then a loose name, then the cache; a revision asks past the atlas."""
    monkeypatch.chdir(tmp_path)
    llama = "meta-llama/Llama-3.1-8B"
    assert resolver.resolve(llama, asking(tmp_path)).derived.fingerprint.params_total == 8_030_261_248
    assert resolver.resolve(f"https://huggingface.co/{llama}/tree/main", asking(tmp_path)).name == llama
    sha = "a" * 40
    cached(tmp_path, llama, sha)
    assert resolver.resolve(llama, asking(tmp_path)).source.startswith("the catalogue")
    found = resolver.resolve(f"{llama}@{sha[:8]}", asking(tmp_path))
    assert (found.revision, found.derived.fingerprint.params_total) == (sha, WEIGHTS)
    (tmp_path / "meta-llama" / "Llama-3.1-8B").mkdir(parents=True)
    (tmp_path / llama / "config.json").write_text(json.dumps(SMALL))
    assert resolver.resolve(llama, asking(tmp_path)).derived.fingerprint.params_total == WEIGHTS


def test_a_repository_is_never_taken_for_one_like_it(tmp_path: Path) -> None:
    """OWNER/NAME that only resembles a model of the atlas is not that model, and a bare word asks no Hub."""
    with pytest.raises(NotFound, match=r"offline the Hub is not asked.*close to it"):
        resolver.resolve("meta-llama/Llama-3.1-8", asking(tmp_path))
    with pytest.raises(NotFound, match="no model here is named"):
        resolver.resolve("gibberish-model", asking(tmp_path, offline=False, endpoint="http://127.0.0.1:9"))


def test_the_cache_on_disk_answers_offline(tmp_path: Path) -> None:
    """A cached repository answers with its commit and, where shards lie there, its stored bytes."""
    folder = cached(tmp_path, "org/mine", "b" * 40)
    found = resolver.resolve("org/mine", asking(tmp_path))
    assert (found.revision, found.source) == ("b" * 40, "huggingface_hub's cache at bbbbbbbb")
    (folder / "model.safetensors.index.json").write_text(
        '{"metadata": {}, "weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}}'
    )
    safetensors(folder / "model-1-of-2.safetensors", {"a": (2, 2)})
    assert resolver.resolve("org/mine", asking(tmp_path)).derived.fingerprint.params_total == WEIGHTS


def test_the_hub_is_asked_last_and_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two requests and a line on stderr; nothing is published; afterwards the archive answers offline, by revision."""
    repo = Repo("org/new", json.dumps(SMALL).encode())
    with HubServer(Population(0, extra=(repo,))) as hub:
        online = asking(tmp_path, offline=False, endpoint=hub.endpoint)
        found = resolver.resolve("org/new", online)
        assert (found.derived.fingerprint.params_total, found.revision) == (WEIGHTS, repo.sha)
        assert len(hub.requests) == 2
        assert "asking the Hub for org/new" in capsys.readouterr().err
        resolver.resolve(f"org/new@{repo.sha}", online)
        assert len(hub.requests) == 3
        with pytest.raises(NotFound, match="no public repository"):
            resolver.resolve("org/none", online)
    assert not (tmp_path / "home" / "snapshots").exists()
    assert resolver.resolve("org/new", asking(tmp_path)).source.startswith("the archive")
    monkeypatch.setattr(single, "BRIEF", replace(single.BRIEF, contact=0.2))
    with pytest.raises(Upstream):
        resolver.resolve("org/other", asking(tmp_path, offline=False, endpoint="http://127.0.0.1:9"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("num_key_value_head=1", "nothing reads num_key_value_head, so it changes no number; the nearest key that is"),
        ("rms_norm_eps=0.1", "rms_norm_eps: the computation changes and the shape does not"),
        ("num_hidden_layers=4", "small"),
    ],
)
def test_a_what_if_says_first_what_it_does_not_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str, says: str
) -> None:
    """The first line names a key that nothing reads with the nearest one, or that no shape changes."""
    (tmp_path / "small.json").write_text(json.dumps(SMALL))
    assert main(["show", str(tmp_path / "small.json"), "--set", change]) == 0
    assert " ".join(capsys.readouterr().out.split()).startswith(says)
