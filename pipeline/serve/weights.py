"""What the weights take on the fullest GPU of each stage: as stored, where that is proven, else at bf16 and said so."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from atlas.derived import Derived
from atlas.numbers.ranks import Split, Stage, Undescribed
from pipeline.engines.types import DTYPE_BYTES
from pipeline.sheets.stored import supposed

STORED = "stored"
UNPROVEN = "at bf16, stored form not proven"
NOTE_UNPROVEN = "weights at bf16: the stored form is not proven"
_WIDEST = 4


class Weights(NamedTuple):
    """Bytes of the fullest rank of each stage, what they are, and what has to be known of them."""

    per_stage: tuple[int, ...]
    says: str
    notes: tuple[str, ...] = ()
    least: int | None = None  # what the fullest GPU holds at least, where `per_stage` is at most


def weights(d: Derived, parts: tuple[Stage, ...], split: Split, wanted: str) -> Weights:
    """The weights in the form wanted: "stored", or one in which no such checkpoint need exist.

    Raises `Usage` for a form that is none, `Undescribed` where the rules of a form do not cover the model.
    """
    if wanted != STORED:
        return _supposed(d, parts, split, wanted)
    stored = d.fingerprint.weight_bytes_checkpoint
    if stored is None:
        notes = (NOTE_UNPROVEN, *_beside(d))
        return Weights(tuple(2 * p.params for p in parts), UNPROVEN, notes)
    known = DTYPE_BYTES.get(d.fingerprint.dtype or "")
    return _dealt(d, parts, split, stored, known if d.fingerprint.quant_method is None else None)


def _supposed(d: Derived, parts: tuple[Stage, ...], split: Split, word: str) -> Weights:
    found = supposed(d, word)
    if found.bytes is None and word == "bf16":
        notes = (f"hypothetical: the language model alone at bf16, because {found.reason}", *_beside(d))
        return Weights(tuple(2 * p.params for p in parts), "hypothetical, the language model at bf16", notes)
    if found.bytes is None:
        raise Undescribed(f"{d.fingerprint.repo_id or 'the model'} as {word}: {found.reason}")
    made = _dealt(d, parts, split, found.bytes, 2 if word == "bf16" else None)
    note = f"hypothetical: stored as {word} by the rules of that form, whatever the checkpoint stores"
    says = made.says.replace("as stored", f"hypothetical, as {word}")
    return made._replace(says=says, notes=(note, *made.notes))


def _apart(d: Derived) -> int:
    """Weights beside the language model's. Raises `Undescribed` where some are stored that nothing counts."""
    f = d.fingerprint
    known = {"towers": f.params_towers if f.has_towers else 0, "draft layers": f.params_mtp if f.n_mtp_layers else 0}
    known["buffers"] = f.params_buffers
    uncounted = [name for name, n in known.items() if n is None]
    if uncounted:
        raise Undescribed(f"{' and '.join(uncounted)} are stored with the language model and not counted")
    return sum(n for n in known.values() if n is not None)


def _beside(d: Derived) -> tuple[str, ...]:
    """What a checkpoint also stores and bf16 weights of the language model leave out."""
    f = d.fingerprint
    found = [
        ("towers", f.params_towers if f.has_towers else 0),
        ("draft layers", f.params_mtp if f.n_mtp_layers else 0),
    ]
    return tuple(f"{name} not counted" for name, n in found if n is None or n)


def _dealt(d: Derived, parts: tuple[Stage, ...], split: Split, stored: int, plain: int | None) -> Weights:
    """The bytes of the files: the language model's dealt out as its weights are, all else whole on every GPU.

    `plain` is the width where every weight has one. Where types differ by tensor, what a rank keeps beyond its even
    share counts at the widest type: at most.
    """
    if split == Split():
        return Weights((stored,), "as stored")
    f = d.fingerprint
    if f.params_total is None:
        raise Undescribed("the weights are not counted")
    total = f.params_total
    beside = max(0, stored - plain * total) if plain else min(stored, 2 * _apart(d))
    width, share = (stored - beside) / total, total / (split.tp * split.pp)
    over = 0 if plain else max(0.0, _WIDEST - width)
    per_stage = tuple(ceil(beside + p.params * width + max(0.0, p.params - share) * over) for p in parts)
    notes = ("towers, drafts and buffers counted whole on every GPU",) if beside else ()
    if not plain:
        notes += ("stored types differ by tensor: what ranks copy is counted at 4 bytes",)
    if plain and not beside:
        return Weights(per_stage, "as stored", notes)
    return Weights(per_stage, "as stored, at most", notes, ceil(stored / (split.tp * split.pp)))
