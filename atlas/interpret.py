"""From a config to its architecture: the one way in. Bad input becomes a refusal, never an exception."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, cast

import msgspec

from atlas import assume, describe
from atlas.assemble import assembled, one_layer
from atlas.derived import Derived
from atlas.families.loader import BESIDE, family, known
from atlas.families.rules import Family
from atlas.layouts.stacks import STACKS
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.structure import Run, layer, model
from atlas.parse import Raw, load
from atlas.parts.sourced import alone, encoders, streams
from atlas.readers import ENDS
from atlas.readers.drafting import drafts
from atlas.reading import correct
from atlas.reading.config import Config
from atlas.reading.derivations import settle
from atlas.reading.encoder import encoder_reader
from atlas.refusal import Refused, not_derivable, shown
from schemas.vocabulary import RefusalKind, Verdict


def derive(raw: bytes | Raw, *, name: str | None = None) -> Derived:
    """Interpret one config (its bytes, or the parsed object). `name` becomes `repo_id`."""
    data: Raw | None = None
    try:
        data = load(raw) if isinstance(raw, bytes) else raw
        return _derive(data, name)
    except Refused as refused:
        return refusal(refused, name, data)


def refusal(refused: Refused, name: str | None, data: Raw | None) -> Derived:
    """The row of a config that gives no numbers."""
    stated = data.get("model_type") if data else None
    return Derived(
        Fingerprint(
            repo_id=name,
            model_type=stated if isinstance(stated, str) and len(stated) <= 100 else None,
            verdict=Verdict.REFUSED.value,
            refusal_kind=refused.kind.value,
            refusal_reason=refused.reason,
        )
    )


def _derive(data: Raw, name: str | None) -> Derived:
    c = settle(reader(data))
    parts, cls = ENDS[c.rules.ends](c)
    made = model(layer(parts), stacked(c), c.word("norm_class"), placement(c))
    derived = describe.described(c, made, data, name, cls)
    return assume.checked(c, derived, model_type_of(data)) if c.rules.model_type == assume.ASSUMED else derived


def reader(data: Raw) -> Config:
    """The reader of a config's language model: the config itself, or the one a wrapper holds."""
    stated = model_type_of(data)
    rules = family(stated) if known(stated) else assume.rules(data, stated)
    if rules.text is None:
        return set_right(data, rules)
    outer, inner = _held(data, rules.text.key)
    if inner is None and rules.text.flat:
        return set_right(data, _with_outer(family(rules.text.family), rules))
    if not isinstance(inner, dict):
        raise Refused(
            RefusalKind.MISSING_KEY, f"{rules.text.key} is needed: the language model's own config is not in the file"
        )
    return set_right(inner, _with_outer(_inner_rules(inner, rules), rules), outer, rules.text.key + ".")  # pyright: ignore[reportUnknownArgumentType]


def set_right(raw: Raw, rules: Family, outer: Raw | None = None, prefix: str = "") -> Config:
    """The reader of an object by these rules, with the row's corrections of known wrong files applied."""
    if not rules.correct:
        return Config(raw, rules, outer, prefix)
    right, said = correct.corrected(raw, rules.correct)
    c = Config(right, rules, outer, prefix)
    c.said = said
    return c


def _held(data: Raw, key: str) -> tuple[Raw, Any]:
    """What stands under a dotted key, and what stands beside it: the keys of every level above, the outermost first."""
    outer, found = data, data
    *steps, last = key.split(".")
    for step in steps:
        held: Any = found.get(step)
        if not isinstance(held, dict):
            return outer, None
        found = cast("Raw", held)
        outer = {**found, **outer}
    return outer, found.get(last)


def _inner_rules(inner: Raw, rules: Family) -> Family:
    assert rules.text is not None  # noqa: S101 - only wrappers come here
    stated = inner.get("model_type")
    if rules.text.only and stated is not None and stated not in rules.text.only:
        raise not_derivable(f"{rules.model_type} over {shown(stated)}: what joins the two is not described")
    if stated is None or stated in rules.text.unnamed:
        return family(rules.text.family)
    return family(model_type_of(inner))


@lru_cache(maxsize=1024)
def _with_outer(inner: Family, wrapper: Family) -> Family:
    assert wrapper.text is not None  # noqa: S101 - only wrappers come here
    return msgspec.structs.replace(
        inner,
        outer=wrapper.outer,
        classes={**inner.classes, **wrapper.classes},
        irrelevant=inner.irrelevant | wrapper.irrelevant if wrapper.text.flat else inner.irrelevant,
        beside=BESIDE.union(wrapper.irrelevant, wrapper.text.key.split("."), ("tie_word_embeddings",)),
        lifts=wrapper.text.lifts,
    )


def model_type_of(data: Raw) -> str:
    """The stated model_type; raises `Refused`."""
    stated = data.get("model_type")
    if stated is None:
        raise Refused(
            RefusalKind.MISSING_KEY, "model_type is needed and not in the config: nothing says which family this is"
        )
    if not isinstance(stated, str):
        raise Refused(RefusalKind.BAD_VALUE, f"model_type is {shown(stated)}, but must be a text")
    return stated


def placement(c: Config) -> str:
    """Where the block norms stand, by the family's rule or beside a parallel residual."""
    stated = c.word("norm_placement")
    if not c.opt("parallel_residual"):
        return stated
    return c.derived("norm_placement", "parallel", "attention and feed-forward stand side by side")


def stacked(c: Config) -> tuple[Run, ...]:
    """The runs of the decoder, of the encoder, or of both, as the named class has them, and of drafting layers."""
    stacks = STACKS[c.rules.stacks](c)
    stack = assembled(c) if "decoder" in stacks else None
    runs = () if stack is None else stack.runs
    runs = streams(runs, 1 + c.count("ngram")) if c.rules.facts.get("predicts_ngrams") else runs
    more = () if stack is None else drafts(c, partial(one_layer, c, stack))
    if "encoder" not in stacks:  # a wrapper of an encoder and a decoder has its source in every step all the same
        return (runs if c.rules.outer.get("decoder_alone") else alone(runs)) + more
    encoder = assembled(c if c.rules.encoder is None else settle(encoder_reader(c))).runs
    return (runs + encoders(encoder) if runs else tuple(r._replace(stack="encoder") for r in encoder)) + more
