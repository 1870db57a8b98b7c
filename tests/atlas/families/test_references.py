"""What rows cite and expect: files of the reference exist, and every expected total is what a config gives."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from places import FIXTURES, ROOT, SHARED

from atlas.families import available, family, row
from atlas.interpret import derive
from pipeline.sources import catalogue

ROWS = sorted(t for t in available() if not t.startswith("_"))
EXPECTED = [(t, e) for t in ROWS for e in row(t).get("expect", [])]
LIBRARY = "transformers 5.24, "
ARXIV = re.compile(r"^arXiv \d{2}(0[1-9]|1[0-2])\.\d{4,5}(, (section \d+(\.\d+)?|table \d+))?$")
PAPERS: dict[str, str] = tomllib.loads((FIXTURES / "papers.toml").read_text("utf-8"))
"""arXiv numbers by what the paper is about."""

WIDTHS: dict[str, dict[str, Any]] = json.loads((FIXTURES / "widths.json").read_text("utf-8"))
"""Keys that shape a tensor, of published models that neither the catalogue nor the shared files have.

The sources of the totals are named in the rows; a wrong width could not give them to the weight. "class default of" a
wrapper is what its class of transformers 5.24 writes for its language model. No file was at hand of deepseek-vl,
MiniCPM 2.5, Molmo-72B and Perception-LM: some of their keys were taken so that the total closes, which it then does not
prove.
"""


def library() -> Path:
    """The models of an installed transformers 5.24; skips where there is none."""
    spec = importlib.util.find_spec("transformers")
    installed = None if spec is None or spec.origin is None else Path(spec.origin).parent
    if installed is None or '__version__ = "5.24' not in (installed / "__init__.py").read_text("utf-8"):
        pytest.skip("transformers 5.24 is not installed")
    return installed


def cited(reference: str) -> list[str]:
    """The files of the library that a reference names; a bare name stands in the folder of the one before it."""
    names = re.findall(r"(?:models/[\w/]+|\w+)\.py|models/\w+(?=$|, | )", reference.removeprefix(LIBRARY))
    folder, found = "", list[str]()
    for name in names:
        folder = name.rpartition("/")[0] if "/" in name else folder
        found.append(name if "/" in name else f"{folder}/{name}")
    return found


def test_names_without_a_folder_stand_in_the_last_one() -> None:
    """`modeling_dbrx.py and configuration_dbrx.py` are two files of one folder; a folder alone is a reference, too."""
    both = LIBRARY + "models/dbrx/modeling_dbrx.py and configuration_dbrx.py"
    assert cited(both) == ["models/dbrx/modeling_dbrx.py", "models/dbrx/configuration_dbrx.py"]
    assert cited(LIBRARY + "models/camembert") == ["models/camembert"]


def test_cited_files_of_the_library_exist() -> None:
    """Every file of transformers 5.24 that a row names is in that release."""
    root = library()
    references = [(t, r) for t in ROWS for r in row(t)["references"] if r.startswith(LIBRARY)]
    assert [(t, r) for t, r in references if not cited(r)] == []
    assert [(t, f) for t, r in references for f in cited(r) if not (root / f).exists()] == []


def test_cited_papers_were_looked_up() -> None:
    """An arXiv number in a row or a part is one whose subject was confirmed; rows write it in one way."""
    papers = [r for t in ROWS for r in row(t)["references"] if "arxiv" in r.lower()]
    assert [r for r in papers if not ARXIV.match(r)] == []
    sources = [f.read_text("utf-8") for f in (ROOT / "atlas").rglob("*.py")]
    numbers = {n for text in (*papers, *sources) for n in re.findall(r"(?i)arxiv[ :/](\d{4}\.\d{4,5})", text)}
    assert numbers - PAPERS.keys() == set()
    assert PAPERS.keys() - numbers == set()


def configs(model_type: str, repo: str, shared: Path | None) -> list[Any]:
    """The configs at hand of what an expectation names."""
    if repo == "class default":
        files = [] if shared is None else [shared / "hub" / "defaults" / f"{model_type}.json"]
        found: list[Any] = [f.read_bytes() for f in files if f.exists()]
        found += [WIDTHS[name]] if (name := f"class default of {model_type}") in WIDTHS else []
        wraps = family(model_type).text
        bare: Any = {"model_type": model_type} | ({wraps.key: {}} if wraps else {})
        # An empty text config is not the class default of a wrapper whose class fills it in: the shared files are.
        return found if wraps and (found or shared is None) else [*found, bare]
    found = [e.raw for e in catalogue.load() if e.repo == repo]
    found += [WIDTHS[repo]] if repo in WIDTHS else []
    if shared is None:
        return found
    # A shortened file speaks where no whole one does.
    folders = ("hub/configs", "news/configs", "hub/trimmed")
    files = [shared / folder / f"{repo.replace('/', '--')}.json" for folder in folders]
    *whole, trimmed = ([f.read_bytes()] if f.exists() else [] for f in files)
    return [*found, *(raw for each in whole for raw in each)] or trimmed


UNSTATED = {"olmo_hybrid"}
"""Families whose class takes from other keys what a bare model_type does not state."""


@pytest.mark.parametrize(("model_type", "expect"), EXPECTED, ids=[f"{t}-{e['repo']}" for t, e in EXPECTED])
def test_what_a_row_expects_is_derived(model_type: str, expect: dict[str, Any], request: pytest.FixtureRequest) -> None:
    """Every config at hand of the repository, or of the class as the library builds it, gives the total of the row."""
    has_shared = SHARED.is_dir()
    through = expect.get("through", model_type)
    at_hand = configs(through, expect["repo"], request.getfixturevalue("shared") if has_shared else None)
    found = [derive(c).fingerprint for c in at_hand]
    totals = [f.params_total for f in found if model_type not in UNSTATED or f.verdict != "refused"]
    assert set(totals) <= {expect["params_total"]}
    if not totals and not has_shared:
        pytest.skip("its config is in the shared reference data only")
    assert totals, "no config at hand: state its widths in fixtures/widths.json"
