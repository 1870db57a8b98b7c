"""The files of designs: those of a structure that today's rules give, in order, however many processes work."""

from __future__ import annotations

import json
from pathlib import Path

import guide
import pytest

from pipeline.site import designs
from pipeline.site.designs import Wanted
from pipeline.site.gather import gather


@pytest.mark.slow
def test_two_processes_make_what_one_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five designs, two at a time: the same files in the same order, three for each."""
    configs = {f"x/m{n}": json.dumps(guide.LLAMA | {"vocab_size": 100 + n}).encode() for n in range(5)}
    path = guide.publish(tmp_path, configs)
    g = gather(path)
    wanted = [Wanted(d, [], ["seen once"]) for d in g.designs]
    alone = list(designs.files(path, g.about, wanted))
    monkeypatch.setattr(designs, "AT_ONCE", 2)
    monkeypatch.setattr(designs, "ALONE", 1)
    assert list(designs.files(path, g.about, wanted)) == alone
    endings = [(d.design_id, ending) for d in g.designs for ending in ("svg", "html", "json")]
    assert [p for p, _ in alone] == [f"designs/{name}.{ending}" for name, ending in endings]
