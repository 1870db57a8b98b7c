"""`atlas verify` from end to end: reports, objects, exit codes, and the rows it gives to a snapshot."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
import stamina
from hub_server import HubServer, Population, Repo
from shrunk import checkpoints, folder, write

from atlas.interpret import derive
from pipeline.cli import main
from pipeline.refresh.headers import with_headers
from pipeline.refresh.holding import disagreements, total_row
from pipeline.refresh.records import Options
from pipeline.refresh.steps import gather, tabulate
from pipeline.sources.headers import Headers, local
from pipeline.verify.verification import check_row, verified, verify
from schemas.registry import CHECKS, DISAGREEMENTS
from schemas.vocabulary import Check

LLAMA = checkpoints()["llama"]


def test_an_exact_checkpoint_ends_with_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report says exact, gives every component, fits 80 columns, and the exit code is 0."""
    assert main(["verify", str(folder(tmp_path / "tiny", LLAMA.config, LLAMA.tensors))]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0].split() == ["tiny", "exact"]
    # 2 layers of 2 x 32x32 + 2 x 16x32 attention weights
    assert "attention                           6,144              6,144" in said
    assert max(map(len, said.splitlines())) <= 80


def test_every_difference_is_printed_and_the_exit_code_is_three(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A config with another width: six misshaped tensors by name, with both shapes."""
    path = folder(tmp_path, LLAMA.config | {"intermediate_size": 40}, LLAMA.tensors)
    assert main(["verify", str(path)]) == 3
    said = capsys.readouterr().out
    assert said.count("misshaped") == 6
    assert "ffn_dense: derived [32, 40], found [32, 48]" in said


def test_json_holds_the_components_and_the_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One object for programs: verdict, sums, components, differences."""
    path = folder(tmp_path, LLAMA.config | {"num_hidden_layers": 1}, LLAMA.tensors)
    assert main(["verify", str(path), "--json"]) == 3
    made = json.loads(capsys.readouterr().out)
    assert (made["check"], made["basis"], len(made["differences"])) == ("off", "headers", 9)
    assert made["components"]["attention"] == {"derived": 3072, "found": 6144, "tensors": 4}


def test_a_refused_config_is_told_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing derived, nothing verified: the reason, and exit code 3."""
    path = folder(tmp_path, {"model_type": "no_such_family", "architectures": ["X"]}, LLAMA.tensors)
    assert main(["verify", str(path)]) == 3
    assert "unknown_family" in capsys.readouterr().out


def test_nothing_there_ends_with_eight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No such path, no config, or no weights: exit code 8 and one sentence."""
    assert main(["verify", str(tmp_path / "none")]) == 8
    write(tmp_path / "model.safetensors", LLAMA.tensors)
    assert main(["verify", str(tmp_path)]) == 8
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "config.json").write_text(json.dumps(LLAMA.config))
    assert main(["verify", str(tmp_path)]) == 8
    assert "Traceback" not in capsys.readouterr().err


def test_a_hostile_name_cannot_move_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tensor's name with an escape sequence is shown, not obeyed."""
    folder(tmp_path, LLAMA.config, LLAMA.tensors | {"model.\x1b[2Jevil": ("F32", (2,))})
    assert main(["verify", str(tmp_path)]) == 3
    assert "\x1b" not in capsys.readouterr().out


def test_a_refresh_reads_headers_where_asked(tmp_path: Path) -> None:
    """`--headers 1` holds the most downloaded repository against its headers: a row of `checks`, exact."""
    folder(tmp_path / "tiny", LLAMA.config, LLAMA.tensors)
    siblings = [{"rfilename": "config.json"}, {"rfilename": "model.safetensors"}]
    files = (("model.safetensors", (tmp_path / "tiny" / "model.safetensors").read_bytes()),)
    facts = (("siblings", siblings), ("downloads", 10**9), ("pipeline_tag", "text-generation"))
    repo = Repo("org/Tiny", json.dumps(LLAMA.config).encode(), files=files, facts=facts)
    with HubServer(Population(3, extra=(repo,))) as hub:
        options = Options(tmp_path / "home", "hub", endpoint=hub.endpoint, headers=1)
        gathered = gather(options)
        with gathered.whole():
            checks = with_headers(options, tabulate(gathered))["checks"]
    rows = checks.filter(pl.col("kind") == "headers").select("repo_id", pl.col("result").cast(pl.String)).rows()
    assert rows == [("org/Tiny", "exact")]
    assert main(["refresh", "--headers", "1", "--home", str(tmp_path)]) == 2


def test_a_model_on_the_hub_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same through a Hub: exit code 0, with the commit; 4 where nobody answers."""
    folder(tmp_path, LLAMA.config, LLAMA.tensors)
    siblings = [{"rfilename": "config.json"}, {"rfilename": "model.safetensors"}]
    files = (("model.safetensors", (tmp_path / "model.safetensors").read_bytes()),)
    repo = Repo("org/Tiny", json.dumps(LLAMA.config).encode(), files=files, facts=(("siblings", siblings),))
    with HubServer(Population(0, extra=(repo,))) as hub:
        assert main(["verify", "org/Tiny", "--endpoint", hub.endpoint]) == 0
        assert repo.sha[:12] in capsys.readouterr().out
    with stamina.set_testing(True, attempts=5):
        assert main(["verify", "org/Tiny", "--endpoint", "http://127.0.0.1:9"]) == 4


def real(shared: Path, name: str) -> tuple[bytes, Headers]:
    """A published config with its published index."""
    index = next((shared / "hub" / "index").glob(f"{name}.*.index.json"))
    return (shared / "hub" / "configs" / f"{name}.json").read_bytes(), local(index)


@pytest.mark.parametrize(
    "name",
    [
        "Qwen--Qwen3-4B",
        "alpindale--WizardLM-2-8x22B",
        "bigscience--bloom",
        "meta-llama--Llama-2-7b-hf",
        "meta-llama--Llama-2-13b-hf",
        "meta-llama--Llama-2-70b-chat-hf",
        "THUDM--chatglm3-6b-32k",
        "bryce-hoehn--Qwen3.5-25B-REAP-A3B-Coding",
    ],
)
def test_a_real_index_is_exact_by_names_and_bytes(shared: Path, name: str) -> None:
    """Names agree, and the index's total is the derived weights in bytes (and old files' rotary frequencies)."""
    config, headers = real(shared, name)
    found = verified(name, config, headers)
    assert (found.check, found.basis) == (Check.EXACT, "index"), found.note


def test_another_width_shows_in_the_bytes_of_an_index(shared: Path) -> None:
    """Names alone would not notice intermediate_size + 256: the bytes do."""
    config, headers = real(shared, "Qwen--Qwen3-4B")
    data = json.loads(config)
    found = verified("x", json.dumps(data | {"intermediate_size": data["intermediate_size"] + 256}).encode(), headers)
    assert (found.check, found.basis) == (Check.OFF, "index")


def test_an_index_with_towers_is_held_by_bytes(shared: Path) -> None:
    """Names agree, and 16,794,189,824 bytes are 2 x (7,754,878,976 + 642,215,936): language model and towers."""
    config, headers = real(shared, "Qwen--Qwen2-Audio-7B-Instruct")
    found = verified("x", config, headers)
    assert found.comparison is not None
    assert (found.check, found.basis, found.comparison.differences) == (Check.EXACT, "index", ())
    assert {r.group: r.bytes for r in found.stored.rows} == {
        "language_model": 2 * 7_754_878_976,
        "towers": 2 * 642_215_936,
    }


def test_rows_fit_the_tables(tmp_path: Path) -> None:
    """Rows of checks and disagreements have the tables' columns; a difference is told in the note."""
    good = check_row(verify(str(folder(tmp_path / "good", LLAMA.config, LLAMA.tensors))))
    assert tuple(good) == CHECKS.columns
    assert (good["result"], good["expected"], good["note"]) == ("exact", good["derived"], None)
    bad = check_row(verify(str(folder(tmp_path / "bad", LLAMA.config | {"num_hidden_layers": 1}, LLAMA.tensors))))
    assert bad["note"].startswith("9 extra; first: extra model.")
    derived = derive(LLAMA.config)
    total = total_row("org/Tiny", derived, derived.fingerprint.params_total or 0)
    assert total is not None
    assert tuple(total) == CHECKS.columns
    rows = list(disagreements("org/Tiny-8B", derived.fingerprint))
    assert [(tuple(r), r["theirs"]) for r in rows] == [(DISAGREEMENTS.columns, "8B")]
