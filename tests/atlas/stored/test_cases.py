"""Every case written by a library: by rule from its config and settings, and from the header of its file."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored import ABSENT, agrees, cases, copied, header

from atlas.interpret import derive
from atlas.stored.answer import HEADER
from pipeline.sources.beside import of_folder, weighed

OPEN = "texts of about 170 bytes whose length is data"
UNPACKED = "transformers writes the same for experts that it unpacked"


@pytest.mark.skipif(not cases(), reason=ABSENT)
@pytest.mark.parametrize("case", cases(), ids=lambda c: c.name)
def test_config_and_settings_give_what_the_library_wrote(case: Path) -> None:
    """Bytes, elements of every type and tensors equal the header's; where a number is refused, the reason is true."""
    raw = (case / "config.json").read_bytes()
    found = weighed(derive(raw), raw, of_folder(case)).stored
    info = header(case)["info"]
    if found.bytes is not None:
        assert agrees(found.rows, info)
    elif OPEN in str(found.reason):
        known = {r.dtype: r.elements for r in found.rows}
        assert "double" in case.name or case.name.startswith("tf4_bnb_nf4")
        assert known.keys() == info["elements_by_dtype"].keys()
        assert 0 < info["total_bytes"] - sum(r.bytes or 0 for r in found.rows) < 200 * info["tensors"]
    else:
        assert UNPACKED in str(found.reason)


@pytest.mark.skipif(not cases(), reason=ABSENT)
def test_a_header_gives_the_same_to_the_byte(tmp_path: Path) -> None:
    """With a weight file of the case's header the answer is that file's, from evidence `header`, for every case."""
    for case in cases():
        folder = tmp_path / case.name
        folder.mkdir()
        copied(case, folder)
        raw = (folder / "config.json").read_bytes()
        found = weighed(derive(raw), raw, of_folder(folder))
        info = header(case)["info"]
        assert found.stored.evidence == HEADER, case.name
        assert found.fingerprint.weight_bytes_checkpoint == info["total_bytes"], case.name
        assert agrees(found.stored.rows, info), case.name
        assert {r.evidence for r in found.stored.rows} == {HEADER}
