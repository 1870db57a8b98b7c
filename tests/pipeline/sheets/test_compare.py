"""Models side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import homes
import pytest
from markdown_it import MarkdownIt

from pipeline.cli import main

LLAMA, DEEPSEEK = "meta-llama/Llama-3.1-8B", "deepseek-ai/DeepSeek-V3"
GIB = 1024**3
SMALL = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "max_position_embeddings": 512, "tie_word_embeddings": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A home with the catalogue's snapshot, without its guide."""
    return str(homes.catalogue(tmp_path_factory.mktemp("home")))


def config(path: Path, **changes: object) -> str:
    """A small config on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(SMALL | changes))
    return str(path)


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `atlas compare` prints."""
    assert main(["compare", *arguments]) == 0
    return capsys.readouterr().out


def line(text: str, label: str) -> list[str]:
    """The words of the row with that label."""
    (found,) = [row for row in text.splitlines() if row[2:].strip().startswith(label)]
    return found.split()


def test_published_figures_stand_side_by_side(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """At fp8 a token of Llama-3.1-8B adds 2 x 32 x 8 x 128 bytes, one of DeepSeek-V3 61 x (512 + 64)."""
    out = compared(capsys, "llama 3.1 8b", "deepseek-v3", "--at", "128k", "--dtype", "fp8", "--home", home)
    assert line(out, "parameters") == ["≠", "parameters", "8,030,261,248", "671,026,419,200"]
    assert line(out, "bytes a token adds")[-2:] == ["65,536", "35,136"]
    assert line(out, "at 128K")[-4:] == ["8", "GiB", "4.3", "GiB"]
    assert all(len(row) <= 80 for row in out.splitlines())


def test_only_what_differs_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two configs that differ in the key/value heads alone: those are marked, and the width stands once for both."""
    one, two = config(tmp_path / "one.json"), config(tmp_path / "two.json", num_key_value_heads=4)
    out = compared(capsys, one, two)
    assert " ".join(out.split()).count("; width 64;") == 1
    assert " 64 64" not in " ".join(out.split())
    assert line(out, "KV heads") == ["≠", "KV", "heads", "2", "4"]
    # 2 layers x (K and V) x heads x 16 x 2 bytes
    assert line(out, "bytes a token adds")[-2:] == ["256", "512"]


def test_checkpoints_are_told_apart_by_their_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path of a config.json and one of a checkpoint folder are both named after the folder."""
    one = config(tmp_path / "left" / "config.json")
    config(tmp_path / "right" / "config.json")
    out = compared(capsys, one, str(tmp_path / "right"))
    assert "A left" in out
    assert "B right" in out


@pytest.mark.parametrize("many", [2, 3, 4, 5, 9])
def test_any_number_fits_80_columns(many: int, tmp_path: Path, home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Further models go into further tables; each model has its column, and no line is longer than a terminal."""
    paths = [config(tmp_path / f"{'long' * 20}{i}.json", num_hidden_layers=i + 1) for i in range(many - 1)]
    out = compared(capsys, DEEPSEEK, *paths, "--home", home)
    assert all(len(row) <= 80 for row in out.splitlines())
    layers = [word for row in out.splitlines() if row.startswith("≠ layers ") for word in row.split()[2:]]
    assert layers == ["61", *(str(i + 1) for i in range(many - 1))]


def test_json_holds_fingerprints_and_what_differs(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """For programs: contract names, the context in tokens, sizes at it, and the columns that differ."""
    made = json.loads(compared(capsys, LLAMA, DEEPSEEK, "--at", "4096", "--json", "--home", home))
    assert (made["context"], made["cache_dtype"]) == (4096, "bf16")
    assert [m["params_total"] for m in made["models"]] == [8_030_261_248, 671_026_419_200]
    assert made["models"][0]["at"]["state_bytes"] == made["models"][0]["kv_bytes_4k"] == GIB // 2
    assert made["models"][0]["at"]["decode_bytes_per_token"] == made["models"][0]["decode_bytes_per_token_4k"]
    assert "n_layers" in made["differing"]
    assert "activation" not in made["differing"]


def test_markdown_takes_hostile_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name with table bars, HTML and a link makes one cell of text, in a table of as many columns as ever."""
    one = config(tmp_path / "one.json")
    two = config(tmp_path / "a|b<b>[x](javascript:1){{ 7*7 }}`.json")
    out = compared(capsys, one, two, "--format", "md")
    tokens = MarkdownIt().enable("table").parse(out)
    assert sum(t.type == "th_open" for t in tokens) == 4
    inner = {c.type for t in tokens for c in t.children or ()}
    assert inner <= {"text", "text_special"}


def test_an_encoder_has_no_cache(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a number does not apply there is a dash, not a zero."""
    out = compared(capsys, "google-bert/bert-base-uncased", LLAMA, "--home", home)
    assert line(out, "bytes a token adds")[-2:] == ["-", "131,072"]


def test_a_context_beyond_the_stated_one_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cache of 128K tokens of a model that states 512 is arithmetic, and said to be."""
    one, two = config(tmp_path / "one.json"), config(tmp_path / "two.json", max_position_embeddings=131_072)
    out = compared(capsys, one, two)
    assert "one states a context of 512 tokens, less than 131,072." in out
    assert "two states" not in out
    assert "\n\none states a context of 512 tokens" in compared(capsys, one, two, "--format", "md")


def test_what_cannot_be_compared_ends_with_its_code(
    tmp_path: Path, home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One model or a wrong option 2, a refused config 3, an unknown name or snapshot 8; a sentence each."""
    good, bad = config(tmp_path / "good.json"), config(tmp_path / "bad.json", num_attention_heads=0)
    for code, arguments in (
        (2, (good,)),
        (2, (good, good, "--at", "lots")),
        (2, (good, good, "--dtype", "fp3")),
        (2, (good, str(tmp_path))),
        (3, (good, bad)),
        (8, (good, "no such model at all", "--home", home)),
        (8, (good, LLAMA, "--home", home, "--snapshot", "2020-01-01")),
    ):
        assert main(["compare", *arguments]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert 1 <= err.count("\n") <= 2


def test_another_epsilon_is_the_same_design_and_another_computation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No number differs, and the constant that does is marked and named, for people and for programs."""
    paths = [config(tmp_path / str(eps) / "config.json", rms_norm_eps=eps) for eps in (1e-5, 1e-6)]
    out = compared(capsys, *paths)
    assert line(out, "norm epsilon") == ["≠", "norm", "epsilon", "1e-05", "1e-06"]
    assert "One design, another computation" in out
    found = json.loads(compared(capsys, *paths, "--json"))
    assert (found["same_design"], found["constants"]) == (True, {"norm_epsilon": [1e-5, 1e-6]})


def test_one_constant_is_nothing_to_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Equal configs compute the same; an epsilon left out is the class's own, 1e-6."""
    paths = [config(tmp_path / "a" / "config.json", rms_norm_eps=1e-6), config(tmp_path / "b" / "config.json")]
    assert "another computation" not in compared(capsys, *paths)


def test_a_what_if_stands_beside_its_original(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One model and a change: A as published, B with 4 KV heads, which keep 2 x 32 x 4 x 128 x 2 bytes a token."""
    out = compared(capsys, "llama 3.1 8b", "--set", "num_key_value_heads=4", "--home", home)
    assert "with num_key_value_heads=4" in out
    assert line(out, "bytes a token adds") == ["≠", "bytes", "a", "token", "adds", "131,072", "65,536"]
    assert line(out, "KV heads") == ["≠", "KV", "heads", "8", "4"]


def test_a_change_of_one_model_leaves_the_other(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """B:KEY=VALUE is of the second alone, KEY=VALUE of both; what nothing reads is said before anything else."""
    changes = ("--set", "B:num_hidden_layers=40", "--set", "num_key_value_head=1")
    out = compared(capsys, "llama 3.1 8b", "qwen3 8b", *changes, "--home", home)
    assert line(out, "layers") == ["≠", "layers", "32", "40"]
    first = " ".join(out.split())
    assert first.startswith(
        "A: nothing reads num_key_value_head, so it changes no number; the nearest key that is read"
    )
    assert "B: nothing reads num_key_value_head" in first


@pytest.mark.parametrize("change", ["C:num_hidden_layers=4", "B:", "x", "B:num_hidden_layers"])
def test_a_change_of_nothing_is_a_usage_error(home: str, change: str) -> None:
    """A letter that no model has, or no KEY=VALUE: exit code 2."""
    assert main(["compare", "llama 3.1 8b", "qwen3 8b", "--set", change, "--home", home]) == 2


def test_programs_are_told_of_changes(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--json has what was set of each model and what must be known of it."""
    out = compared(capsys, "llama 3.1 8b", "--set", "rms_norm_eps=0.1", "--json", "--home", home)
    one, other = json.loads(out)["models"]
    assert "set" not in one
    assert other["set"] == ["rms_norm_eps=0.1"]
    assert "the computation changes and the shape does not" in other["warnings"][0]
    assert json.loads(out)["same_design"] is True


def test_equal_degrees_stand_together_and_verdicts_are_said_once(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both models are even at 2, 4 and 8 ranks: one row; what `known` means stands once for six models."""
    names = ["llama 3.1 8b", "qwen3 8b", "deepseek-v3", "gpt-oss-120b", "gemma-3-27b-it", "jamba"]
    out = compared(capsys, *names[:2], "--home", home)
    assert "= TP 2, 4, 8 even" in out
    out = compared(capsys, *names, "--home", home)
    assert " ".join(out.split()).count("every key accounted for") == 1
    assert "…" not in out


def test_a_refused_model_ends_show_as_it_ends_inspect(tmp_path: Path) -> None:
    """Exit code 3, its reason on stdout, also for --json and a what-if that cannot be."""
    bad, good = config(tmp_path / "bad.json", hidden_size=-1), config(tmp_path / "good.json")
    for command in (["show", bad], ["show", bad, "--json"], ["show", good, "--set", "num_key_value_heads=four"]):
        assert main([*command, "--home", str(tmp_path)]) == 3
    assert main(["show", good, "--home", str(tmp_path)]) == 0


def test_where_a_source_says_it_and_what_copies_hold_are_told_where_asked(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sheet names a source and the copies stored otherwise; --evidence has the place in it and their counts."""
    texts = []
    for options in ([], ["--evidence"]):
        assert main(["show", "qwen3 8b", *options, "--home", home]) == 0
        texts.append(" ".join(capsys.readouterr().out.split()))
    brief, whole = texts
    assert "copies stored otherwise: awq Qwen/Qwen3-8B-AWQ, fp8 Qwen/Qwen3-8B-FP8" in brief
    assert "Qwen3 Technical Report, arXiv 2505.09388 " in brief
    assert "elements Qwen/Qwen3-8B-AWQ" in whole
    assert "arXiv 2505.09388; abstract, table of models" in whole


def test_one_verdict_and_source_are_said_once(home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Under the names where all have the same; beside each where they differ."""
    out = compared(capsys, "llama 3.1 8b", "qwen3 8b", "--home", home)
    first, second, both = out.splitlines()[:3]
    assert (first, second) == ("A  meta-llama/Llama-3.1-8B", "B  Qwen/Qwen3-8B")
    assert re.fullmatch(r"known: every key accounted for · snapshot \d{4}-\d\d-\d\d", both)
    mixed = compared(capsys, "llama 3.1 8b", config(tmp_path / "a.json"), "--home", home).splitlines()
    assert re.search(r"known · snapshot \d{4}-\d\d-\d\d$", mixed[0])
