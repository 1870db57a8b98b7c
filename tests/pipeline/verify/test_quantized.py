"""Quantized checkpoints verified: every sound one is exact, and no wrong one is ever called so."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from stored import ABSENT, cases, changed, copied, header, tensors, write

from pipeline.verify.verification import as_object, verify
from schemas.vocabulary import Check


@pytest.mark.skipif(not cases(), reason=ABSENT)
def test_every_sound_checkpoint_is_exact(tmp_path: Path) -> None:
    """All cases that libraries wrote agree to the last weight, and the bytes printed are those of the file."""
    for case in cases():
        folder = tmp_path / case.name
        folder.mkdir()
        copied(case, folder)
        found = verify(str(folder))
        assert found.check is Check.EXACT, case.name
        assert as_object(found)["weight_bytes_checkpoint"] == header(case)["info"]["total_bytes"]


@pytest.mark.skipif(not cases(), reason=ABSENT)
def test_a_wrong_checkpoint_is_never_called_exact(tmp_path: Path) -> None:
    """A layer less in the file, one more in the config, a matrix of another shape, a tensor lost: 200 of them."""
    tries = 0
    chosen = random.Random(12)
    for case in chosen.sample(cases(), 50):
        for kind in range(4):
            folder = tmp_path / f"{case.name}-{kind}"
            folder.mkdir()
            copied(case, folder)
            _spoil(folder, case, kind, chosen)
            assert verify(str(folder)).check is not Check.EXACT, (case.name, kind)
            tries += 1
    assert tries == 200


def _spoil(folder: Path, case: Path, kind: int, chosen: random.Random) -> None:
    config, found = (folder / "config.json").read_bytes(), tensors(case)
    weights = sorted(
        n for n in found if n.endswith(".weight") and "norm" not in n and "visual" not in n and "vision" not in n
    )
    if kind == 0:
        write(folder, {n: t for n, t in found.items() if ".layers.1." not in n and ".h.1." not in n})
    elif kind == 1:
        stated = json.loads(config)
        held = stated.get("text_config", stated)
        key = "n_layer" if "n_layer" in held else "num_hidden_layers"
        held[key] += 1
        if "layer_types" in held:
            held["layer_types"] = [*held["layer_types"], held["layer_types"][-1]]
        (folder / "config.json").write_bytes(changed(config, **stated))
    elif kind == 2:
        name = chosen.choice(weights)
        dtype, shape, size = found[name]
        write(folder, {**found, name: (dtype, [*shape[:-1], 2 * shape[-1]], 2 * size)})
    else:
        name = chosen.choice(weights)
        write(folder, {n: t for n, t in found.items() if n != name})
