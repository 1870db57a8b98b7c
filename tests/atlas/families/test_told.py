"""A merged row as lines, each with the file that said it."""

from __future__ import annotations

import tomllib

import pytest

from atlas.families.loader import merged
from atlas.families.told import BUILT_IN, as_toml, told


def test_each_line_of_a_merged_row_names_its_file() -> None:
    """Mixtral extends Mistral, which extends Llama; the window's default that Mixtral unsets is in no line."""
    lines = {(x.table, x.key): (x.value, x.file) for x in told("mixtral")}
    assert lines["defaults", "num_experts"] == (8, "mixtral.toml")
    assert lines["defaults", "intermediate_size"] == (14336, "mistral.toml")
    assert lines["facts", "position"] == ("rope", "llama.toml")
    assert lines["", "layout"] == ("window_everywhere", "mistral.toml")
    assert lines["", "ends"] == ("decoder", BUILT_IN)
    assert lines["ffns", "moe"][1] == "mixtral.toml"
    assert ("ffns", "mlp") not in lines
    assert ("defaults", "sliding_window") not in lines


@pytest.mark.parametrize("model_type", ["mixtral", "whisper", "gemma3", "t5gemma", "bailing_hybrid"])
def test_the_lines_of_a_row_are_the_row(model_type: str) -> None:
    """Read as TOML the lines give what the rows give when they are merged."""
    read = tomllib.loads(as_toml([x for x in told(model_type) if x.file != BUILT_IN]))
    assert read == {k: v for k, v in merged(model_type).items() if v or not isinstance(v, dict)}
