"""The published JSON Schema of `--json`, held against what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from places import ROOT

from pipeline.cli import main
from pipeline.sheets.schema import schema

SMALL = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
}  # fmt: skip


def test_the_published_schema_is_that_of_the_records() -> None:
    """`schemas/inspect.schema.json` is what the records give: whoever changes one writes the other anew."""
    published = json.loads((ROOT / "schemas" / "inspect.schema.json").read_text("utf-8"))
    assert published == json.loads(json.dumps(schema()))


@pytest.mark.parametrize("config", [SMALL, {"model_type": "nothing-known"}, SMALL | {"num_experts_of_mine": 3}])
def test_what_is_printed_keeps_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str], config: object) -> None:
    """A derived, a refused and a doubted model, with every option that adds keys, validate; no key is undescribed."""
    (tmp_path / "a.json").write_text(json.dumps(config))
    options = ["--layers", "--evidence", "--at", "4k", "--set", "num_hidden_layers=3", "--weights", "fp8"]
    assert main(["inspect", str(tmp_path / "a.json"), "--json", *options]) in (0, 3)
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema())
    assert set(found) <= set(schema()["properties"])
