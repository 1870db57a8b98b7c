"""What a repository has beside its config, through a Hub on the loopback and the client that asks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hub_server import HubServer, Population, Repo
from shrunk import checkpoints, folder

from pipeline.ask.found import Asking
from pipeline.ask.resolver import several as look_up
from pipeline.refresh import reporting, steps
from pipeline.refresh.records import Options
from pipeline.refresh.steps import refresh

LLAMA = checkpoints()["llama"]

# Two layers of 64: q, o 64 x 64, k, v 32 x 64, gate, up 128 x 64, down 64 x 128; table and head 256 x 64; five norms.
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256,
    "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "hidden_act": "silu",
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.57.0",
}  # fmt: skip
MODULES = 2 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 128 * 64)  # 73,728 weights in 14 modules
PLAIN = 2 * 256 * 64 + 5 * 64  # 33,088
SETTINGS = {
    "producer": {"name": "modelopt", "version": "0.29"},
    "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": None, "exclude_modules": ["lm_head"]},
}
FP8_BYTES = MODULES + 2 * 4 * 14 + 2 * PLAIN  # a byte a weight, two F32 scalars a module, the rest in BF16


def _repo(name: str, config: dict[str, Any], downloads: int, files: Any = (), **facts: Any) -> Repo:
    more = tuple({"downloads": downloads, "safetensors": None, **facts}.items())
    return Repo(name, json.dumps(config).encode(), files=tuple(files), facts=more)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the catalogue nor the guide has a part in this."""
    monkeypatch.setattr(steps, "from_catalogue", list)
    monkeypatch.setattr(steps, "reported", lambda _home: {})
    monkeypatch.setattr(reporting, "build_guide", lambda *_: ([], {}))


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubServer]:
    """Four repositories: silent with settings beside it, silent with counts, of no known family, settings damaged."""
    folder(tmp_path / "odd", {**LLAMA.config, "model_type": "odd"}, LLAMA.tensors)
    odd = {"architectures": ["OddModel"], "model_type": "odd", "layers_of_oddness": 3}
    weights = (("model.safetensors", (tmp_path / "odd" / "model.safetensors").read_bytes()),)
    counts = {"parameters": {"BF16": MODULES + PLAIN}, "total": MODULES + PLAIN}
    settings = (("hf_quant_config.json", json.dumps(SETTINGS).encode()),)
    siblings = [{"rfilename": "config.json"}, {"rfilename": "model.safetensors"}]
    repos = (
        _repo("org/Silent-FP8", {**CONFIG, "rms_norm_eps": 1e-5}, 400, settings),
        _repo("org/Counted", CONFIG, 300, safetensors=counts),
        _repo("org/Odd", odd, 200, weights, siblings=siblings),
        _repo("org/Broken", {**CONFIG, "rope_theta": 2e4}, 100, (("quant_config.json", b"{ no JSON"),)),
    )
    with HubServer(Population(0, extra=repos)) as server:
        yield server


def _refreshed(home: Path, hub: HubServer, headers: int = 0) -> dict[str, tuple[Any, ...]]:
    report = refresh(Options(home, "hub", endpoint=hub.endpoint, headers=headers))
    with duckdb.connect(str(report.path), read_only=True) as con:
        rows = con.execute(
            "SELECT repo_id, verdict, weight_bytes_checkpoint, params_checkpoint, refusal_kind FROM fingerprints"
            " WHERE repo_id LIKE 'org/%'"
        ).fetchall()
        evidence = dict(
            con.execute("SELECT subject, evidence::VARCHAR FROM stored WHERE subject LIKE 'org/%'").fetchall()
        )
    return {name: (*rest, evidence.get(name)) for name, *rest in rows}


def test_settings_that_the_listing_names_are_fetched_once_and_used(tmp_path: Path, hub: HubServer) -> None:
    """A silent FP8 checkpoint has its bytes by rule, a counted one by the counts; nothing is asked for blindly."""
    found = _refreshed(tmp_path / "home", hub)
    assert found["org/Silent-FP8"][1] == FP8_BYTES
    assert found["org/Silent-FP8"][-1] == "rule"
    assert found["org/Counted"][1] == 2 * (MODULES + PLAIN)
    assert found["org/Counted"][-1] == "hub"
    assert found["org/Broken"][1] is None
    assert found["org/Odd"][0] == "refused"
    asked = {r.target.rpartition("/")[2] for r in hub.requests if "quant" in r.target}
    assert asked == {"hf_quant_config.json", "quant_config.json"}
    before = len(hub.requests)
    assert _refreshed(tmp_path / "home", hub) == found
    assert not [r for r in hub.requests[before:] if "/resolve" in r.target]


def test_a_model_without_rules_is_measured_by_its_headers(tmp_path: Path, hub: HubServer) -> None:
    """With `--headers` a repository of no known family has its exact weights and bytes, and says what it lacks."""
    found = _refreshed(tmp_path / "home", hub, headers=4)
    verdict, size, params, kind, evidence = found["org/Odd"]
    assert (verdict, kind, evidence) == ("measured", "unknown_family", "header")
    assert params == sum(prod(shape) for _, shape in LLAMA.tensors.values())
    assert size == sum({"F32": 4, "BF16": 2, "F16": 2}[d] * prod(shape) for d, shape in LLAMA.tensors.values())
    assert found["org/Silent-FP8"][0] == "known"


def _of_folder(home: Path, source: Path) -> dict[str, tuple[Any, ...]]:
    """Verdict, bytes, evidence and result of the headers of each checkpoint in a folder, from a refresh."""
    report = refresh(Options(home, str(source)))
    with duckdb.connect(str(report.path), read_only=True) as con:
        rows = con.execute(
            "SELECT f.repo_id, verdict, weight_bytes_checkpoint, any_value(s.evidence)::VARCHAR,"
            " any_value(c.result)::VARCHAR, any_value(c.note) FROM fingerprints f"
            " LEFT JOIN stored s ON s.subject = f.repo_id LEFT JOIN checks c ON c.repo_id = f.repo_id"
            " AND c.kind IN ('headers', 'index') GROUP BY ALL"
        ).fetchall()
    return {name: tuple(rest) for name, *rest in rows}


def test_a_folder_of_checkpoints_is_read_as_inspect_reads_it(tmp_path: Path) -> None:
    """`refresh --source DIR` knows settings files, headers and indexes of each checkpoint, and says the same bytes.

    A silent FP8 model is weighed by its settings, one with weights by its headers and checked against them, one of no
    known family is measured, and a damaged file has a row that says so and ends nothing.
    """
    source = tmp_path / "models"
    for name in ("Silent-FP8", "Bare"):
        (source / name).mkdir(parents=True)
        (source / name / "config.json").write_text(json.dumps(CONFIG | {"rms_norm_eps": 1e-5 * (name == "Bare")}))
    (source / "Silent-FP8" / "hf_quant_config.json").write_text(json.dumps(SETTINGS))
    for name in ("Whole", "Odd", "Damaged"):
        (source / name).mkdir()
    folder(source / "Whole", LLAMA.config, LLAMA.tensors)
    folder(source / "Odd", {"model_type": "odd", "layers_of_oddness": 3}, LLAMA.tensors)
    folder(source / "Damaged", LLAMA.config | {"rope_theta": 2e4}, LLAMA.tensors)
    (source / "Damaged" / "model.safetensors").write_bytes(b"\xff" * 64)
    found = _of_folder(tmp_path / "home", source)
    weight_bytes = sum({"F32": 4, "BF16": 2, "F16": 2}[d] * prod(shape) for d, shape in LLAMA.tensors.values())
    assert found["Silent-FP8"][:4] == ("known", FP8_BYTES, "rule", None)
    assert found["Bare"][:2] == ("known", None)
    assert found["Whole"][:4] == ("known", weight_bytes, "header", "exact")
    assert found["Odd"][:3] == ("measured", weight_bytes, "header")
    assert found["Damaged"][1:4] == (None, None, "unchecked")
    assert found["Damaged"][4]
    for name in ("Silent-FP8", "Bare", "Whole", "Odd"):
        (inspected,) = look_up(str(source / name), Asking(home=tmp_path))[0]
        assert inspected.derived.fingerprint.weight_bytes_checkpoint == found[name][1], name
    alone = _of_folder(tmp_path / "other", source / "Whole")
    assert alone["Whole"][:4] == found["Whole"][:4]
