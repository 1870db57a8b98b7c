"""`atlas inspect`, as a user runs it: whatever lies in a folder, every file has its line."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.refresh.records import Options
from pipeline.refresh.steps import gather, tabulate
from pipeline.sources import disk

SMALL = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "rope_scaling": None, "tie_word_embeddings": False,
}  # fmt: skip


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    """The objects `atlas inspect --jsonl` prints."""
    assert main(["inspect", "--jsonl", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def odd_folder(folder: Path) -> Path:
    """A folder with what may happen to lie in one."""
    text = json.dumps(SMALL)
    for name in ("a.json", "--x.json", "-y.json", ".json", "o--n--2.json", "\x1b[31mred.json", "new\nline.json"):
        (folder / name).write_text(text)
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.json")).write_text(text)
    (folder / "link.json").symlink_to(folder / "a.json")
    (folder / "gone.json").symlink_to(folder / "nowhere")
    (folder / "loop.json").symlink_to(folder / "loop.json")
    os.mkfifo(folder / "pipe.json")
    (folder / "empty.json").touch()
    (folder / "folder.json").mkdir()
    (folder / "README.md").write_text("not a config")
    return folder


def test_every_json_of_an_odd_folder_has_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Broken links, pipes, empty files and names that are not UTF-8 are lines among the others, in file-name order."""
    found = lines(capsys, str(odd_folder(tmp_path)))
    assert [f["repo_id"] for f in found] == [
        "\x1b[31mred", "--x", "-y", ".json", "a", "bad\\xff", "empty", "gone", "link", "loop", "new\nline", "o/n--2",
        "pipe",
    ]  # fmt: skip
    refused = {f["repo_id"]: f["refusal_kind"] for f in found if f["verdict"] == "refused"}
    assert refused == {"empty": "not_json", "gone": "unreadable", "loop": "unreadable", "pipe": "unreadable"}


def test_a_file_that_may_not_be_read_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system refuses one file (simulated: root may read all), the next one follows; alone it is exit 3."""

    def read(path: Path) -> bytes:
        if path.name == "b.json":
            raise PermissionError(13, "Permission denied", str(path))
        return path.read_bytes()

    monkeypatch.setattr(disk, "read", read)
    for name in "abc":
        (tmp_path / f"{name}.json").write_text(json.dumps(SMALL))
    found = lines(capsys, str(tmp_path))
    assert [(f["repo_id"], f["refusal_kind"]) for f in found] == [("a", None), ("b", "unreadable"), ("c", None)]
    assert main(["inspect", str(tmp_path / "b.json")]) == 3
    assert "Permission denied" in capsys.readouterr().out


def test_a_refresh_of_an_odd_folder_loses_nothing(tmp_path: Path) -> None:
    """Each file of the folder is a row of models; those that cannot be read are missing, and say why."""
    source = tmp_path / "source"
    source.mkdir()
    rows = tabulate(gather(Options(tmp_path, str(odd_folder(source)))))["models"]
    ours = {r["repo_id"]: (r["outcome"], r["detail"]) for r in rows.to_dicts() if r["source"] == "source"}
    assert len(ours) == 13
    assert {name for name, (outcome, _) in ours.items() if outcome == "missing"} == {"gone", "loop", "pipe"}
    assert all(detail for outcome, detail in ours.values() if outcome == "missing")
    assert ours["empty"][0] == "malformed"


def test_a_pipe_given_by_name_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`atlas inspect <(curl ...)` names a pipe: it is read like a file."""
    reader, writer = os.pipe()
    os.write(writer, json.dumps(SMALL).encode())
    os.close(writer)
    assert main(["inspect", "--json", f"/dev/fd/{reader}"]) == 0
    assert json.loads(capsys.readouterr().out)["n_layers"] == 2


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"\xff\xfe\x00", "not_json"), (b"", "not_json"), (b"[" * 100_000, "too_deep"), (b"[]", "not_an_object")],
)
def test_whatever_comes_on_stdin_is_a_refusal(
    data: bytes, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes that are no config end with exit code 3 and a refusal named stdin."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["inspect", "-", "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["repo_id"], found["refusal_kind"]) == ("stdin", kind)


def test_what_is_not_there_ends_with_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No such path, an empty path, an empty folder, a closed stdin: a sentence each."""
    for path in (str(tmp_path / "nowhere"), "", str(tmp_path)):
        assert main(["inspect", path]) == 8
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["inspect", "-"]) == 8
    assert capsys.readouterr().err.count("\n") == 4


def test_a_checkpoint_is_named_after_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder with config.json is one model under the folder's name, also when it is the current folder."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SMALL))
    monkeypatch.chdir(folder)
    for path in (str(folder), "."):
        assert [f["repo_id"] for f in lines(capsys, path)] == ["my-model"]


def test_a_what_if_stands_beside_the_original(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four KV heads instead of two double the cache: 2 layers x (K and V) x 4 x 16 x 2 bytes = 512 a token."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SMALL))
    assert main(["inspect", str(path), "--set", "num_key_value_heads=4", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["kv_bytes_per_token"], made["original"]["kv_bytes_per_token"]) == (512, 256)
    # A key that is null in the config can be reached into like one that is absent.
    scaled = ("--set", "rope_scaling.rope_type=yarn", "--set", "rope_scaling.factor=4")
    assert main(["inspect", str(path), *scaled, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rope_scaling"] == "yarn"


@pytest.mark.parametrize("change", ["", "key", "=4", "a..b=1", ".=1", "hidden_size.x=1", "model_type=\udcff"])
def test_a_change_that_cannot_be_made_ends_with_2(
    change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No key, no value, a step into a number, text that is not UTF-8: usage, with what is wrong."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SMALL))
    assert main(["inspect", str(path), "--set", change]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--set" in err


def test_a_sheet_fits_80_columns_and_has_no_terminal_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With hostile names and texts in it, every line of a sheet is at most 80 wide and holds no control character."""
    path = tmp_path / f"{'long' * 30}\x1b]0;t\x07.json"
    hostile = {"dtype": "\x1b[31m" * 30, "quantization_config": {"quant_method": "x" * 300}, "k\x1b[2J" * 20: 1}
    path.write_text(json.dumps(SMALL | hostile))
    assert main(["inspect", str(path), "--layers", "--evidence"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.replace("\n", "").isprintable()


def test_a_what_if_of_a_constant_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No column differs, but the model computes something else: which value, from what to what."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "llama", "rms_norm_eps": 1e-6}))
    assert main(["inspect", str(path), "--set", "rms_norm_eps=0.1"]) == 0
    *_, differs, said, value = capsys.readouterr().out.splitlines()
    assert (differs.strip(), said.strip()) == ("no column differs", "same design, another computation:")
    assert value.split() == ["norm_epsilon", "1e-06", "0.1"]


def test_a_doubt_stands_in_the_first_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence why an answer is assumed comes before any number."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "llama", "num_loops": 4}))
    assert main(["inspect", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("num_loops" in line for line in lines[:4])


def test_a_sheet_without_a_cache_says_which_key_took_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A decoder whose config says that it looks both ways."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "llama", "is_causal": False}))
    assert main(["inspect", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("State of one sequence"))
    assert "is_causal is false" in lines[at + 1]


def sheet_of(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> list[str]:
    """The lines of a sheet."""
    assert main(["inspect", str(path), *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_equal_layers_stand_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two layers alike: no strip of marks, one line, also with --layers; unlike neighbours have a line each."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SMALL))
    lines = sheet_of(capsys, path)
    after = iter(lines)
    assert any(x.startswith("Layers") for x in after)
    assert next(after).split()[:2] == ["2x", "█"]
    assert [x.split()[:2] for x in sheet_of(capsys, path, "--layers") if "full attention, gqa" in x] == [["0-1", "█"]]
    windows = {"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "sliding_window_pattern": 2}
    path.write_text(json.dumps(SMALL | windows | {"num_hidden_layers": 3}))
    found = [x.split()[:2] for x in sheet_of(capsys, path, "--layers") if "attention, gqa" in x]
    assert found == [["0", "▃"], ["1", "█"], ["2", "▃"]]


def test_where_a_value_comes_from_stands_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key that is read under its own name is `explicit` and no more; what no key states is said once, not twice."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SMALL))
    lines = sheet_of(capsys, path, "--evidence")
    assert ["hidden_size", "64", "explicit"] in [x.split() for x in lines]
    assert not any(x.startswith("Not stated") for x in lines)
    assert any(x.startswith("Not stated") for x in sheet_of(capsys, path))


def test_what_is_asked_of_the_cache_stands_with_the_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """2 layers x (K and V) x 2 heads x 16 x 1 byte = 128 a token; 1,000 tokens are 128,000 bytes, under its heading."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SMALL))
    lines = sheet_of(capsys, path, "--at", "1000", "--dtype", "fp8")
    first, last = (next(i for i, x in enumerate(lines) if x.startswith(y)) for y in ("State of", "Runtime"))
    assert "  fp8 at 1,000 tokens  128,000 bytes = 125 KiB; without scales" in lines[first:last]


@pytest.mark.parametrize(
    ("config", "said"),
    [(SMALL | {"max_position_embeddings": 512}, "stated"), ({"model_type": "llama"}, "by the class's default")],
)
def test_a_context_is_called_stated_where_it_is(
    config: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key of the file, or what the class takes when there is none."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(config))
    (line,) = [x for x in sheet_of(capsys, path) if x.startswith("  context ")]
    assert f" tokens {said}, rope" in line


def test_a_what_if_counts_what_only_follows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shares and ranks follow from the weights above them: how many they are is said, and --json has them."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SMALL))
    lines = sheet_of(capsys, path, "--set", "num_key_value_heads=4")
    told = lines[next(i for i, x in enumerate(lines) if x.startswith("What the change makes")) + 1 :]
    assert not [x for x in told if x.startswith(("  share_", "  params_rank_"))]
    assert next(x for x in told if x.startswith("  n_kv_heads ")).split() == ["n_kv_heads", "2", "4"]
    assert any("columns that follow from these, which --json has" in x for x in told)
