"""From a config to its architecture: the one way in. Bad input becomes a refusal, never an exception."""

from __future__ import annotations

from functools import partial

from atlas import assume, describe
from atlas.assemble import assembled, one_layer, placement
from atlas.checkpoint.naming import rules
from atlas.derived import Derived
from atlas.layouts.stacks import STACKS
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.structure import Part, Run, layer, model
from atlas.opening import proven, reader, source
from atlas.parse import Raw, load
from atlas.parts.both_ways import looking_both_ways
from atlas.parts.sourced import (
    alone,
    encoders,
    names_in,
    of_source,
    projected_source,
    renamed,
    renamed_layer,
    streams,
)
from atlas.readers import ENDS
from atlas.readers.drafting import drafts
from atlas.reading.causality import looks_both_ways
from atlas.reading.classes import said
from atlas.reading.config import Config
from atlas.reading.derivations import settle
from atlas.reading.doubts import doubts
from atlas.reading.encoder import encoder_reader
from atlas.reading.kind import named_kind
from atlas.refusal import Refused, contradiction, not_derivable, shown
from schemas.vocabulary import Verdict

ATTENDED = "cross_attention_hidden_size"
"""The width of a source that a decoder attends to, where it says so."""


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
    kind = named_kind(data)
    return Derived(
        Fingerprint(
            repo_id=name,
            model_type=stated if isinstance(stated, str) and len(stated) <= 100 else None,
            architecture_class=_class(data),
            kind=None if kind is None else kind.value,
            verdict=Verdict.REFUSED.value,
            refusal_kind=refused.kind.value,
            refusal_reason=refused.reason,
        )
    )


def _class(data: Raw | None) -> str | None:
    """The class that a config states, read or not."""
    named = data.get("architectures") if data else None
    first: object = named[0] if isinstance(named, list) and named else None  # pyright: ignore[reportUnknownVariableType]
    return first if isinstance(first, str) and len(first) <= 100 else None


def _derive(data: Raw, name: str | None) -> Derived:
    c = reader(data)
    proven(c, data)
    settle(c)
    parts, cls = ENDS[c.rules.ends](c)
    parts, runs = joined(c, parts, stacked(c))
    made = model(layer(parts), runs, c.word("norm_class"), placement(c))
    derived = describe.described(c, made, data, name, cls)
    return assume.checked(c, derived, said(data, c.rules)) if c.rules.model_type == assume.ASSUMED else derived


def looking(c: Config, runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """The runs as they stand, or with attention that looks both ways where one fact says so for all of it."""
    if not looks_both_ways(c):
        return runs
    return tuple(r._replace(layers=tuple(looking_both_ways(each) for each in r.layers)) for r in runs)


def stacked(c: Config) -> tuple[Run, ...]:
    """The runs of the decoder, of the encoder, or of both, as the named class has them, and of drafting layers."""
    stacks = STACKS[c.rules.stacks](c)
    stack = assembled(c) if "decoder" in stacks else None
    runs = () if stack is None else looking(c, stack.runs)
    runs = streams(runs, 1 + c.count("ngram")) if c.rules.facts.get("predicts_ngrams") else runs
    more = () if stack is None else drafts(c, partial(one_layer, c, stack))
    if "encoder" not in stacks:  # a wrapper of an encoder and a decoder has its source in every step all the same
        return (runs if c.rules.outer.get("decoder_alone") else alone(runs)) + more
    encoder = assembled(c if c.rules.encoder is None else settle(encoder_reader(c))).runs
    return (runs + encoders(encoder) if runs else tuple(r._replace(stack="encoder") for r in encoder)) + more


def joined(c: Config, parts: tuple[Part, ...], runs: tuple[Run, ...]) -> tuple[tuple[Part, ...], tuple[Run, ...]]:
    """A decoder, and before it the encoder of its source where a wrapper holds one by a row of its own.

    A matrix stands between them where their widths differ; a decoder that says it attends to another width than its own
    has none, and no class in these rows has keys and values of that width.
    """
    inner = source(c)
    if inner is None:
        return parts, runs
    settle(inner)
    made = tuple(of_source(p) for p in ENDS[inner.rules.ends](inner)[0])
    own = encoders(stacked(inner))
    left = doubts(inner, inner.unread())
    if left:
        raise not_derivable(f"no class of {inner.rules.model_type} reads {', '.join(shown(k) for k in left)}")
    root, spelled = c.rules.outer["source"]["key"] + ".", rules(inner.rules)
    made = tuple(renamed(p, tuple(root + spelled.usual(t.name) for t in p.tensors)) for p in made)
    own = tuple(
        r._replace(layers=tuple(renamed_layer(x, tuple(spelled.usual(n) for n in names_in(x))) for x in r.layers))
        for r in own
    )
    width, d, attended = inner.count("hidden_size"), c.count("hidden_size"), c.raw.get(ATTENDED)
    if attended not in (None, d):
        raise contradiction(f"{c.prefix}{ATTENDED} is {shown(attended)}: keys and values are made from {d}")
    if width != d:
        if attended is not None:
            raise contradiction(f"{c.prefix}{ATTENDED} is {attended}, and the encoder {width} wide")
        made += (projected_source(d, width),)
    return (*parts, *made), (*runs, *own)
