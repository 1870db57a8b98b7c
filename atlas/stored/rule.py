"""What a checkpoint holds by rule: the structure's tensors, stored as the settings of its quantization say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from atlas.checkpoint.naming import Namer
from atlas.families.rules import Family
from atlas.numbers.structure import Model
from atlas.numbers.towers import Tower
from atlas.stored import bitsandbytes, compressed, fp8, integers, mlx, modelopt, others
from atlas.stored.alike import Kind, Mentions, kinds, mentions
from atlas.stored.covered import covered, named
from atlas.stored.form import Form, Part, Unsaid
from atlas.stored.held import Held, merged, plain_tied
from atlas.stored.scheme import Context, Reader, Scheme
from atlas.stored.settings import Read, Settings, shared
from atlas.stored.subject import Subject, context
from atlas.stored.units import EXPERT, LINEAR, Unit, ends_of, names_of, outlined, sized, units

METHODS: dict[str, Reader] = {
    "fp8": fp8.scheme,
    "compressed-tensors": compressed.scheme,
    "modelopt": modelopt.scheme,
    "modelopt-fp4": modelopt.scheme,
    "gptq": integers.scheme,
    "awq": integers.scheme,
    "auto-round": integers.scheme,
    "bitsandbytes": bitsandbytes.scheme,
    "mlx": mlx.scheme,
    "fbgemm-fp8": others.fbgemm,
    "mxfp4": others.mxfp4,
    "torchao": others.torchao,
    "hqq": others.hqq,
    "quanto": others.quanto,
}
"""The readers of settings by the method's name."""


def variants(of: Subject, s: Settings) -> Iterator[tuple[Held, ...]]:
    """What the files hold by rule, and the same with a tied head stored again. Raises `Unsaid`."""
    plain = by_rule(of, s)
    yield plain
    again = plain_tied(of.model, context(of, s.method).dtype)
    if again and s.method != "mlx":
        yield plain + again


def stores_tied_once(of: Subject, s: Settings) -> bool:
    """Whether the tool stores a tied head once for certain: those that save through transformers, from version 5 on."""
    return s.method in _ONCE or context(of, s.method).fuses


_ONCE = ("mlx", "bitsandbytes", "hqq", "torchao")


def by_rule(of: Subject, s: Settings) -> tuple[Held, ...]:
    """Every tensor of the checkpoint, by groups of equal ones. Raises `Unsaid` where the settings say too little."""
    if s.dispute is not None:
        raise Unsaid(s.dispute)
    if s.method not in METHODS:
        raise Unsaid(f"the quantization {s.method!r} is not described")
    c = context(of, s.method)
    if of.towers is None:
        raise Unsaid(f"the towers of {of.family.model_type} are not described, and their weights are in the files")
    read = shared(s)
    found = _kept(of.model, of.family, of.towers, drafts_stored(of, read), c, read)
    if isinstance(found, str):
        raise Unsaid(found)
    return found


@lru_cache(maxsize=4096)
def _kept(
    model: Model,
    family: Family,
    towers: tuple[Tower, ...],
    drafts: bool,  # noqa: FBT001 - part of the key that the answer is kept under
    c: Context,
    read: Read,
) -> tuple[Held, ...] | str:
    """The same of a design and settings, which many repositories share; a text where the settings say too little."""
    plan = _plan(outlined(model), family, towers, drafts, c, read)
    if isinstance(plan, str):
        return plan
    try:
        ends = _each(sized(plan.ends, model, plan.names), plan.said, plan.made)
        found = tuple(_in_forms(plan.made, ends))
    except Unsaid as said:
        return str(said)
    return plan.rest if isinstance(plan.rest, str) else merged((*found, *plan.rest))


class _Plan(NamedTuple):
    """What files hold of a model whose ends may have any size; `rest` is a text where the settings say too little."""

    made: Scheme
    said: Mentions
    names: Namer
    ends: tuple[Unit, ...]
    rest: tuple[Held, ...] | str


@lru_cache(maxsize=1024)
def _plan(
    model: Model,
    family: Family,
    towers: tuple[Tower, ...],
    drafts: bool,  # noqa: FBT001 - as in the key
    c: Context,
    read: Read,
) -> _Plan | str:
    """The plan of a model's outline: vocabularies differ where nothing else does."""
    try:
        return _planned(model, family, towers, c, read.settings, drafts=drafts)
    except Unsaid as said:
        return str(said)


def _planned(
    model: Model, family: Family, towers: tuple[Tower, ...], c: Context, s: Settings, *, drafts: bool
) -> _Plan:
    found, names = units(model, family, towers, drafts=drafts, named=named(s)), names_of(model, family, named(s))
    covered(found, s)
    made, said = _in_part(METHODS[s.method](s, c), s), mentions(s)
    each = tuple(_each(found, said, made))
    for target in made.targets:
        if not any(target(k.unit.module) for k in each if k.unit.is_module):
            raise Unsaid("a target of the settings takes no module of the structure")
    ends = sum(1 for _ in ends_of(model, names))
    try:
        rest = merged(stored_as(made, _each(found[ends:], said, made)))
    except Unsaid as unsaid:
        rest = str(unsaid)
    return _Plan(made, said, names, found[:ends], rest)


def _each(found: Iterable[Unit], m: Mentions, made: Scheme) -> Iterator[Kind]:
    """Every kind of module and tensor that is written, by itself where the tool takes stacks of experts apart."""
    for whole in found:
        if not (made.drops_buffers and whole.where == "buffers"):
            for u in _written(whole) if made.splits_experts else (whole,):
                yield from kinds(u, m)


def drafts_stored(of: Subject, read: Read) -> bool:
    """Whether the drafting layers are in the files.

    A publisher's own fp8 keeps them; any other tool where its settings name them. Raises `Unsaid` where layers are
    stored that the structure does not have.
    """
    named, s = _names_drafts(read, of.model.n_layers), read.settings
    if not named and (s.method != "fp8" or fp8.of_transformers(s)):
        return False
    if of.drafts is None or (named and not of.drafts):
        raise Unsaid("drafting layers are in the files, and what they hold is not described")
    return bool(of.drafts)


@lru_cache(maxsize=4096)
def _names_drafts(read: Read, n: int) -> bool:
    s = read.settings
    listed = [s.get(k) for k in ("ignore", "exclude_modules", "modules_to_not_convert", "quantized_layers")]
    names = [str(x) for each in listed if isinstance(each, list | dict) for x in each]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return any(f"layers.{n}." in x or x.endswith((f"layers.{n}", f"layers.{n}*")) or "mtp" in x for x in names)


def stored_as(made: Scheme, found: Iterable[Kind]) -> Iterator[Held]:
    """Every unit in its form, or as it was, and what the scheme adds."""
    yield from _in_forms(made, found)
    yield from (Held("scales", "cache", p.dtype, 1, p.elements) for p in made.added)


def _in_forms(made: Scheme, found: Iterable[Kind]) -> Iterator[Held]:
    for u, times, is_all in found:
        form = made.form(u) if u.is_module and (made.takes_subclasses or not _is_subclass(u)) else None
        stacked = u.stacked or (made.stacks_experts and u.kind == EXPERT)
        if not is_all and (stacked or (form is not None and any(p.once for p in form.parts))):
            raise Unsaid("the settings tell experts of a layer apart that lie in one tensor")
        held = (_plain(u, made),) if form is None else _of_form(u, form, stacked=stacked)
        yield from (h.times(times) for h in held)


def _is_subclass(u: Unit) -> bool:
    return u.own_class and u.kind == LINEAR


def _in_part(made: Scheme, s: Settings) -> Scheme:
    """Settings that stand in the language model's own config say nothing of the towers beside it."""
    if "." not in s.source:
        return made

    def form(u: Unit) -> Form | None:
        return None if u.where == "towers" else made.form(u)

    return made._replace(form=form)


def _written(u: Unit) -> Iterator[Unit]:
    """A stack of experts as the tools for linear layers write it: each expert and each matrix by itself."""
    if not u.stacked:
        yield u
        return
    stem, _, last = u.name.rpartition(".")
    for n in range(u.fused):
        name = (
            f"{stem}.{{e}}.{last}.weight" if u.fused == 1 else f"{stem}.{{e}}.{('gate_proj', 'up_proj')[n % 2]}.weight"
        )
        yield u._replace(name=name, shape=(u.out // u.fused, *u.shape[1:]), stacked=False, fused=1)


def _plain(u: Unit, made: Scheme) -> Held:
    tensors = 1 if u.stacked or (made.stacks_experts and u.kind == EXPERT) else u.copies
    return Held(u.where, "unquantized", made.dtype(u), tensors, u.copies * _elements(u))


def _elements(u: Unit) -> int:
    return Part("weight", "U8", u.shape).elements


def _of_form(u: Unit, form: Form, *, stacked: bool) -> Iterator[Held]:
    for p in form.parts:
        each = 1 if p.once or stacked else u.copies
        of_all = p.elements if p.once else u.copies * p.elements
        where = u.where if p.what == "weight" else "scales"
        yield Held(where, form.scheme, p.dtype, each * form.times, of_all)
    if form.loose:
        yield Held("texts", form.scheme, "U8", u.copies * form.loose, None)
