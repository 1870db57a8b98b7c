"""A checkpoint's header held against a derived structure: every weight by name and shape, fused or packed or not.

`compare` is pure: it takes a listing (name, shape and dtype of every tensor) and answers with what agrees, what is
missing, extra or misshaped, per component, and what stands apart: drafting layers, towers, buffers, quantization
scales, a tied head stored again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from atlas.checkpoint.expected import Group, agrees, expected, laid_together
from atlas.checkpoint.idle import is_idle, readers
from atlas.checkpoint.naming import Namer, namer, pattern
from atlas.checkpoint.packing import Listing, Shape, Stored, Unpacked, unpack
from atlas.checkpoint.towers import expected as tower_groups
from atlas.families import Family
from atlas.numbers.structure import Model, Tensor
from atlas.numbers.towers import Tower
from schemas.vocabulary import APART, Check, Component

_TOWERS = re.compile(
    r"^(?:(?:model|base_model|thinker|transformer|llm|language_model)\.){0,2}"
    r"(?:vision\w*|visual\w*|vit\w*|audio\w*|speech\w*|sound\w*|image_\w+|img_\w+|mm_\w+|multi_modal\w*|multimodal\w*|mlp1|vpm|resampler"
    r"|aligner|projector|connector|perceiver\w*|merger|patch_\w+|embed_vision|embed_audio|talker|token2wav|apm|tts|sam_model|view_seperator"
    r"|modality_\w+|vl_\w+|adapter|qformer|Qformer|query_tokens|gen_\w+|siglip\w*|clip\w*|encodec\w*)(?:\.|$)"
)
_MTP = re.compile(r"(?:^|\.)(?:mtp\w*|nextn\w*)(?:\.|$)")
_BUFFERS = re.compile(
    r"(?:^|\.)(?:inv_freq|cos_cached|sin_cached|freqs_cis|masked_bias|causal_mask|position_ids|num_batches_tracked|slope_rate|embed_positions\.weights)$"
)
_MASK = re.compile(r"\.(?:attn|attention|attn\.attention)\.bias$")
_INDEX = re.compile(r"\.(\d+)\.")


def apart_of(name: str, entry: Stored) -> str | None:
    """What a tensor beside the model belongs to by its name alone: drafts, buffers or towers; None where none."""
    if _MTP.search(name):
        return Component.MTP.value
    if _BUFFERS.search(name) or (_MASK.search(name) and (entry.shape is None or len(entry.shape) == 4)):
        return Component.BUFFERS.value
    return Component.TOWERS.value if _TOWERS.search(name) else None


class Difference(NamedTuple):
    """One tensor that does not agree.

    `wanted` is null for an extra one, `found` for a missing one or where only names are known.
    """

    kind: str  # "missing", "extra" or "misshaped"
    name: str
    component: str  # "unassigned" where an extra tensor resembles nothing derived
    wanted: Shape | None = None
    found: Shape | None = None


class Tally(msgspec.Struct):
    """One component: weights derived, weights found for them, and tensors that agree."""

    derived: int = 0
    found: int = 0
    tensors: int = 0


class Comparison(msgspec.Struct, frozen=True, eq=False):
    """The outcome. `apart` counts what is stored beside the model: elements, or null where a size is not known."""

    check: Check
    components: Mapping[str, Tally]
    differences: tuple[Difference, ...]
    apart: Mapping[str, int | None]
    packings: Mapping[str, int]
    shapes_known: bool
    prefix: str
    derived: int
    found: int
    unknown: frozenset[str] = frozenset()


def compare(
    model: Model,
    family: Family,
    listing: Listing,
    *,
    quantization: Mapping[str, Any] | None = None,
    n_mtp: int | None = None,
    towers: tuple[Tower, ...] = (),
) -> Comparison:
    """Hold a checkpoint's tensors against the model's.

    `n_mtp` is the number of drafting layers that the config states; `towers` are held too where the files have any.
    """
    plain = unpack(listing, quantization)
    names = namer(family, model, plain.listing)
    wanted, tied = expected(model, names, plain.listing)
    held = _Held(model, plain, names, 0 if n_mtp is None else n_mtp)
    for group in wanted:
        held.hold(group)
    held.hold_towers(tower_groups(towers, plain.listing))
    held.rest(tied)
    return held.outcome()


def _within(name: str, stems: frozenset[str]) -> bool:
    """Whether a tensor is one of these modules', or of one in them."""
    while name:
        if name in stems:
            return True
        name = name.rpartition(".")[0]
    return False


class _Held:
    """A comparison in the making."""

    def __init__(self, model: Model, plain: Unpacked, names: Namer, n_mtp: int) -> None:
        self.plain = plain
        self.names = names
        self.left = dict(plain.listing)
        self.tallies: dict[str, Tally] = {}
        self.differences: list[Difference] = []
        self.like: dict[str, Component] = {}
        self.apart: dict[str, int | None] = {}
        self.missing = 0
        self.knows_towers = False
        first = model.n_layers
        self.drafts = frozenset(range(first, first + n_mtp))
        self.borrowing = readers(model)
        for entry in plain.scales.values():
            self._set_apart("scales", entry)

    def hold(self, group: Group) -> None:
        """Find the tensors of a group and compare."""
        found = [self.left.pop(n, None) for n in group.names]
        here = [f for f in found if f is not None]
        self.like |= {pattern(n): group.component for n in group.names}
        if group.component in APART:
            for entry in here:
                self._set_apart(group.component.value, entry)
            return
        tally = self._count(group)
        if len(here) < len(found):
            self.missing += group.elements
            self.differences += [
                Difference("missing", n, group.component.value, group.wanted)
                for n, f in zip(group.names, found, strict=True)
                if f is None
            ]
        elif agrees(group, here):
            tally.tensors += len(here)
            self._found(group)
        else:
            tally.found += sum(f.elements for f in here if f.elements is not None)
            self.differences.append(
                Difference(
                    "misshaped", " + ".join(group.names), group.component.value, group.wanted, laid_together(here)
                )
            )

    def hold_towers(self, groups: list[Group]) -> None:
        """Find the tensors of towers and compare; files without a single one of them hold the language model alone."""
        self.knows_towers = any(g.names[0] in self.left for g in groups)
        for group in groups if self.knows_towers else ():
            entry = self.left.pop(group.names[0], None)
            if entry is not None and agrees(group, [entry]):
                self._set_apart(group.component.value, entry)
            elif entry is not None or group.component is Component.TOWERS:
                shape = None if entry is None else entry.shape
                kind = "missing" if entry is None else "misshaped"
                self.differences.append(Difference(kind, group.names[0], group.component.value, group.wanted, shape))

    def _count(self, group: Group) -> Tally:
        for m in group.members:
            self._tally(m.component).derived += group.stack * m.elements
        return self._tally(group.component)

    def _found(self, group: Group) -> None:
        for m in group.members:
            self._tally(m.component).found += group.stack * m.elements

    def _tally(self, component: str) -> Tally:
        return self.tallies.setdefault(component, Tally())

    def rest(self, tied: Mapping[str, Tensor]) -> None:
        """Sort what no weight of the model accounts for."""
        for name, entry in self.left.items():
            kind = self._kind(name, entry, tied)
            if kind is not None:
                self._set_apart(kind, entry)
                continue
            component = self.like.get(pattern(name))
            self.differences.append(
                Difference("extra", name, component.value if component else "unassigned", None, entry.shape)
            )
            if component and entry.elements is not None:
                self._tally(component).found += entry.elements

    def _kind(self, name: str, entry: Stored, tied: Mapping[str, Tensor]) -> str | None:
        again = tied.get(name)
        if again is not None and (entry.shape is None or entry.shape == again.shape):
            return "tied_again"
        layer = self._layer(name)
        if layer in self.borrowing and is_idle(name):
            return "unused"
        kind = Component.MTP.value if layer in self.drafts else apart_of(name, entry)
        return None if kind == Component.TOWERS.value and self.knows_towers else kind

    def _layer(self, name: str) -> int | None:
        before, _, after = self.names.place.layer("decoder").partition("{i}")
        index = name[len(before) :].partition(after)[0] if name.startswith(before) else ""
        return int(index) if index.isdecimal() else None

    def _set_apart(self, kind: str, entry: Stored) -> None:
        known, n = self.apart.get(kind, 0), entry.elements
        self.apart[kind] = None if known is None or n is None else known + n

    def _is_open(self) -> bool:
        """Whether the differences speak against nothing: only names differ, or only packings that are not known."""
        return self._renamed() or self._unread()

    def _unread(self) -> bool:
        """Whether every difference is of a module whose packing is not known here."""
        unknown = self.plain.unknown
        return bool(unknown) and all(any(_within(n, unknown) for n in d.name.split(" + ")) for d in self.differences)

    def _renamed(self) -> bool:
        """Whether only names differ: what is missing and what is extra have as many weights, to the last one.

        Then the row does not say what this checkpoint calls them, and nothing speaks against the derivation.
        """
        found = [self.left[d.name].elements for d in self.differences if d.kind == "extra"]
        known = [n for n in found if n is not None]
        misshaped = any(d.kind == "misshaped" for d in self.differences)
        return not misshaped and len(known) == len(found) and self.missing > 0 and self.missing == sum(known)

    def outcome(self) -> Comparison:
        """The finished comparison.

        Exact where every shape is known and nothing differs; unchecked where only names could be compared, or only
        names differ.
        """
        known = all(e.elements is not None for e in self.plain.listing.values())
        exact = Check.EXACT if known else Check.UNCHECKED
        check = exact if not self.differences else Check.UNCHECKED if self._is_open() else Check.OFF
        order = sorted(
            self.differences,
            key=lambda d: list(Component).index(Component(d.component)) if d.component in set(Component) else 99,
        )
        derived, found = sum(t.derived for t in self.tallies.values()), sum(t.found for t in self.tallies.values())
        return Comparison(
            check,
            self.tallies,
            tuple(order),
            self.apart,
            self.plain.packings,
            known,
            self.names.place.layer("decoder"),
            derived,
            found,
            self.plain.unknown,
        )
