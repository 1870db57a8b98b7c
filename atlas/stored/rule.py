"""What a checkpoint holds by rule: the structure's tensors, stored as the settings of its quantization say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from atlas.families import Family
from atlas.numbers.shape import shape_of
from atlas.numbers.structure import Model
from atlas.stored import bitsandbytes, compressed, fp8, integers, mlx, modelopt, others
from atlas.stored.form import DTYPES, Form, Part, Unsaid
from atlas.stored.held import Held
from atlas.stored.scheme import Context, Reader, Scheme
from atlas.stored.settings import Settings
from atlas.stored.units import EXPERT, REST, Unit, units
from schemas.vocabulary import AttentionKind

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
    "mxfp4": others.mxfp4,
    "torchao": others.torchao,
    "hqq": others.hqq,
    "quanto": others.quanto,
}
"""The readers of settings by the method's name."""


def by_rule(model: Model, family: Family, config: Mapping[str, Any], s: Settings) -> tuple[Held, ...]:
    """Every tensor of the checkpoint, by groups of equal ones. Raises `Unsaid` where the settings say too little."""
    reader = METHODS.get(s.method)
    if reader is None:
        raise Unsaid(f"the quantization {s.method!r} is not described")
    c = context(model, family, config)
    drafts = drafts_stored(model, config, s)
    found = units(model, family, drafts=drafts)
    _described(family, found, c)
    made = reader(s, c)
    return tuple(_stored(made, found))


def _described(family: Family, found: tuple[Unit, ...], c: Context) -> None:
    """Raises `Unsaid` where parts of the checkpoint are not part of the structure."""
    if c.has_towers and not any(u.where == "towers" for u in found):
        raise Unsaid(f"the towers of {family.model_type} are not described, and their weights are in the files")


def context(model: Model, family: Family, config: Mapping[str, Any]) -> Context:
    """What the readers need to know. Raises `Unsaid` where no type is stated."""
    mixers = [(m, n) for m, n in shape_of(model).mixers if m.attention_kind is not None]
    latent = next((m for m, _ in mixers if m.attention_kind is AttentionKind.MLA), None)
    return Context(
        model_type=family.model_type,
        dtype=_dtype(config),
        major=_major(config.get("transformers_version")),
        attention_layers=sum(n for _, n in mixers),
        has_experts=any(t.stored > 1 for each in model.counted() for p in each.parts for t in p.tensors),
        has_towers=bool(family.outer.get("has_towers")),
        heads=latent and latent.n_q_heads,
        value_dim=latent and latent.v_head_dim,
    )


def _dtype(config: Mapping[str, Any]) -> str:
    """The type of what is not quantized, as the config states it."""
    inner = (config.get(k) for k in ("text_config", "llm_config", "language_config", "thinker_config"))
    for raw in (config, *inner):
        for key in ("dtype", "torch_dtype"):
            stated = raw.get(key) if isinstance(raw, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            if isinstance(stated, str) and stated.removeprefix("torch.") in DTYPES:
                return DTYPES[stated.removeprefix("torch.")]
    raise Unsaid("no dtype is stated for what is not quantized")


def _major(version: object) -> int | None:
    head = str(version).partition(".")[0]
    return int(head) if head.isdecimal() else None


def drafts_stored(model: Model, config: Mapping[str, Any], s: Settings) -> bool:
    """Whether the drafting layers are in the files.

    A publisher's own fp8 keeps them; any other tool where its settings name them. Raises `Unsaid` where layers are
    stored that the structure does not have.
    """
    del config
    has = any(r.stack == "mtp" for r in model.runs)
    if s.method == "fp8" and not fp8.of_transformers(s):
        return has
    return has and _names_drafts(s, model.n_layers)


def _names_drafts(s: Settings, n: int) -> bool:
    listed = [s.get(k) for k in ("ignore", "exclude_modules", "modules_to_not_convert", "quantized_layers")]
    names = [str(x) for each in listed if isinstance(each, list | dict) for x in each]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return any(f"layers.{n}." in x or x.endswith((f"layers.{n}", f"layers.{n}*")) or "mtp" in x for x in names)


def _stored(made: Scheme, found: tuple[Unit, ...]) -> Iterator[Held]:
    for whole in found:
        for u in _written(whole) if made.splits_experts else (whole,):
            form = made.form(u) if u.is_module else None
            if form is None:
                yield _plain(u, made)
            else:
                yield from _of_form(u, form, stacked=u.stacked or (made.stacks_experts and u.kind == EXPERT))
    yield from (Held("scales", "cache", p.dtype, 1, p.elements) for p in made.added)


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
        yield Held(
            where,
            form.scheme,
            p.dtype,
            each * form.times,
            of_all,
            u.copies * u.out * u.into if p.what == "weight" else None,
        )
    if form.loose:
        yield Held("scales", form.scheme, "U8", u.copies * form.loose, None)


__all__ = ["METHODS", "REST", "Unsaid", "by_rule", "context", "drafts_stored"]
