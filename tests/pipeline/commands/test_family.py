"""`atlas family`: a merged row, line by line."""

from __future__ import annotations

import json

import pytest

from pipeline import cli


def test_a_family_is_printed_with_its_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Each entry stands under its table, with the file that said it behind it."""
    assert cli.main(["family", "mixtral"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(x.startswith("num_experts = 8 ") and x.endswith("# mixtral.toml") for x in lines)
    assert any(x.startswith("rope_theta = 1000000.0 ") and x.endswith("# mixtral.toml") for x in lines)
    assert any(x.startswith("hidden_size = 4096 ") and x.endswith("# llama.toml") for x in lines)


def test_json_gives_one_line_per_entry(capsys: pytest.CaptureFixture[str]) -> None:
    """Programs get table, key, value and file."""
    assert cli.main(["family", "gemma3", "--json"]) == 0
    said = [json.loads(x) for x in capsys.readouterr().out.splitlines()]
    assert {"table": "text", "key": "family", "value": "gemma3_text", "file": "gemma3.toml"} in said


@pytest.mark.parametrize("name", ["lama", "_names"])
def test_an_unknown_family_is_not_found(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 8, with names near it; a file that is no family is none."""
    assert cli.main(["family", name]) == 8
    assert f"no family is called '{name}'" in capsys.readouterr().err


def test_a_miswritten_row_ends_with_its_file_and_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes a row reads what is wrong with it, not a traceback; exit code 3."""
    monkeypatch.setattr("atlas.families.loader.row", lambda _: {"ends": "decodr"})
    monkeypatch.setattr("atlas.families.loader.available", lambda: {"newcomer"})
    assert cli.main(["family", "newcomer"]) == 3
    said = "families/newcomer.toml: ends: no end is called 'decodr'; the nearest is 'decoder'"
    assert said in capsys.readouterr().err
