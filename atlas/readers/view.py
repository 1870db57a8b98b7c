"""A config as one part sees it: under the names, with the facts and with the word that the row gives the part."""

from __future__ import annotations

from typing import Any, TypeVar

from atlas.families.rules import Spec
from atlas.layouts.words import Differing, Word, kind_of
from atlas.numbers.fingerprint import Evidence
from atlas.reading.answers import Answers
from atlas.reading.config import Config
from schemas.vocabulary import Origin


class PartAnswers(dict[str, Any]):
    """The answers as one part sees them: its own facts first, then the config's, under the names they have there."""

    __slots__ = ("source", "spec", "word")

    def __init__(self, source: Answers, spec: Spec, word: str) -> None:
        super().__init__()
        self.source = source
        self.spec = spec
        self.word = word

    def __missing__(self, field: str) -> Any:
        """Nothing is kept here: a derived value may still be noted in the config."""
        spec, source = self.spec, self.source
        if field not in spec.facts:
            return source[spec.fields.get(field, field)]
        label, value = f"{field}[{self.word}]", spec.facts[field]
        if label not in source.noted:
            rule = f"family {source.rules.model_type}"
            source.noted[label] = Evidence(label, value, Origin.FAMILY_RULE.value, rule)
        return value


class View(Config):
    """A config as one part sees it: some fields stand under other names, some facts hold for this part alone."""

    __slots__ = ("part_word", "root", "spec")

    def __init__(self, config: Config, spec: Spec, word: Word) -> None:  # pyright: ignore[reportMissingSuperCall]
        self.root = config
        self.spec = spec
        self.part_word = word
        self.raw, self.rules, self.outer, self.prefix = config.raw, config.rules, config.outer, config.prefix
        self.source, self.said = config.source, config.said
        self.values = PartAnswers(config.source, spec, kind_of(word))

    @property
    def config(self) -> Config:
        """The config itself, for fields that are no part's own."""
        return self.root

    def name(self, field: str) -> str:
        """The field that answers for `field` here."""
        return self.spec.fields.get(field, field)

    def derived(self, field: str, value: Any, rule: str) -> Any:
        """Record a computed answer under the name it has here."""
        return self.root.derived(self.name(field), value, rule)


D = TypeVar("D", bound=Differing)


def said(v: Config, record: type[D]) -> D:
    """What the layout says of the part's layer.

    Raises `TypeError` where a row joins the part to a layout that says no such thing.
    """
    found = may_say(v, record)
    if found is None:
        raise TypeError(f"the part needs a layout that says {record.__name__} of a layer")
    return found


def may_say(v: Config, record: type[D]) -> D | None:
    """What the layout says of the part's layer, or None where it says no more than its kind."""
    return v.part_word if isinstance(v, View) and isinstance(v.part_word, record) else None


def seen_by(c: Config, spec: Spec, word: Word) -> Any:
    """The config as a part sees it: itself, unless row or layout say more of the part than its name."""
    return View(c, spec, word) if spec.fields or spec.facts or isinstance(word, Differing) else c
