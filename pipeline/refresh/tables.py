"""From what a refresh found to the tables of a snapshot: each text is derived once, each design tabulated once.

Rows gather in columns and are put aside as frames of some thousand; what is kept of each text and design is its id.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import Any

import msgspec
import polars as pl

from atlas.derived import Derived
from atlas.interpret import derive
from atlas.numbers import tabulate
from atlas.numbers.fingerprint import Fingerprint
from atlas.parse import MAX_BYTES
from pipeline.errors import AtlasError
from pipeline.refresh import composing, repositories
from pipeline.refresh.found import Found, Input
from pipeline.refresh.listed import UNLISTED, listed
from pipeline.store.columns import Columns
from pipeline.store.staged import Staged
from schemas.fields import Field, at_home
from schemas.registry import (
    CONFIGS,
    CONSTANTS,
    CONTENT,
    DESIGNS,
    FEATURES,
    LAYERS,
    MODELS,
    PARAMETERS,
    REFUSALS,
    STATES,
    STORED,
    TABLES,
)
from schemas.tables import empty
from schemas.vocabulary import Outcome, RefusalKind

UNREADABLE = {
    RefusalKind.NOT_JSON: Outcome.MALFORMED,
    RefusalKind.NOT_AN_OBJECT: Outcome.MALFORMED,
    RefusalKind.TOO_DEEP: Outcome.MALFORMED,
    RefusalKind.TOO_LARGE: Outcome.TOO_LARGE,
}
"""Refusals that say something of the file rather than of the architecture."""

OF_CONFIGS = (CONFIGS, CONSTANTS, REFUSALS, FEATURES)
"""Tables whose rows follow from a text alone, and have its config_id."""

OF_DESIGNS = (DESIGNS, LAYERS, PARAMETERS, STATES)
"""Tables whose rows follow from a structure alone, and have its design_id."""

OF_TEXTS = (*OF_CONFIGS, STORED, *OF_DESIGNS)

_PLACE = Field("place", "int", "Which repository of the refresh it is, counted from 0.", nullable=False, least=0)
FOUND = MODELS._replace(
    name="found",
    fields=(
        *MODELS.fields,
        _PLACE,
        Field("failed", "flag", "Whether deriving it ended in an error.", nullable=False),
    ),
)
"""The rows of `models` as they come: a repository that is found again has a second one."""

BESIDE = STORED._replace(name="beside", fields=(*STORED.fields, _PLACE))
"""The rows of `stored` that repositories have beside their configs."""

_FIELDS = Fingerprint.__struct_fields__
_CONFIG_FIELDS = tuple(f.name for f in at_home("configs"))
_DESIGN_FIELDS = DESIGNS.columns
_json = msgspec.json.Encoder().encode
_of_config = itemgetter(*map(_FIELDS.index, _CONFIG_FIELDS))
_of_design = itemgetter(*map(_FIELDS.index, _DESIGN_FIELDS))


Rows = list[dict[str, Any]]


def tables(
    found: Iterable[Found],
    *,
    known: Mapping[bytes, Derived] | None = None,
    extra: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    tick: Callable[[], object] | None = None,
) -> Staged:
    """The tables of a snapshot. A repository found twice is one row: give the catalogue's models before crawled ones.

    `known` holds texts that were derived already,
    `extra` rows of reported, checks, disagreements and measurements; `tick` is called once per repository.

    Raises:
        Invalid: two configs have one design_id but different designs, which would be an error of ours.
    """
    staged = Staged()
    gatherer = Gatherer(known or {}, staged.add)
    with no_collection():
        for one in found:
            gatherer.add(one)
            if tick:
                tick()
        gatherer.finish(extra or {})
        return composing.composed(staged, of_texts)


def of_texts(raws: Iterable[bytes], known: Mapping[bytes, Derived] | None = None) -> dict[str, pl.DataFrame]:
    """The tables that follow from these texts alone; one that cannot be derived has no row."""
    parts: dict[str, list[pl.DataFrame]] = {t.name: [empty(t)] for t in OF_TEXTS}
    gatherer = Gatherer(known or {}, lambda name, frame: parts.setdefault(name, []).append(frame))
    with no_collection():
        for raw in raws:
            gatherer.add(Input(hashlib.sha256(raw).hexdigest(), raw, "", None))
        gatherer.finish({})
    return {t.name: pl.concat(parts[t.name]) for t in OF_TEXTS}


@contextmanager
def no_collection() -> Iterator[None]:
    """Rows hold no cycles, and the collector walking them again and again took two fifths of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Gatherer:
    """Rows on their way to frames, which go where `give` takes them. Add every repository, then call `finish`.

    The rows of repositories are given as `found`: in the order they come, with their place, and whether they failed.
    """

    def __init__(self, known: Mapping[bytes, Derived], give: Callable[[str, pl.DataFrame], object]) -> None:
        self.known, self.place = known, 0
        self.outcomes: dict[str, Outcome | None] = {}
        self.designs: dict[str, bytes | None] = {}
        self.columns = {t.name: Columns(t, partial(give, t.name)) for t in (*CONTENT, FOUND, BESIDE)}

    def add(self, one: Found) -> None:
        """A repository; its config is derived unless its text is known already.

        Whatever is wrong with one repository, the others go on: it is malformed then, with the kind of error.
        """
        try:
            row, failed = self._row(one), False
        except AtlasError:
            raise
        except Exception as error:  # noqa: BLE001 - what one stranger wrote ends no refresh
            detail = f"it cannot be derived: {type(error).__name__}"
            identity = (one.repo_id, Outcome.MALFORMED.value, None, detail)
            row, failed = (*identity, *UNLISTED, None, None, one.source), True
        self.columns[FOUND.name].add((*row, self.place, failed))
        self.place += 1

    def _row(self, one: Found) -> tuple[Any, ...]:
        config = None if one.raw is None else self._config(one.raw)
        if one.raw is not None:
            counts = one.listing.get("hub_params_by_dtype") or {}
            for each in repositories.stored(one.raw, self.known.get(one.raw), one.settings, counts):
                self.columns[BESIDE.name].add((one.repo_id, *msgspec.structs.astuple(each), self.place))
        unreadable = self.outcomes[config] if config and one.outcome in {Outcome.OK, Outcome.UNCHANGED} else None
        identity = (one.repo_id, str(unreadable or one.outcome), one.revision, one.detail)
        return (*identity, *listed(one.listing), config, one.as_of, one.source)

    def _config(self, raw: bytes) -> str:
        config_id = hashlib.sha256(raw).hexdigest()
        if config_id not in self.outcomes:
            derived = self.known.get(raw) or derive(raw)
            kind = derived.fingerprint.refusal_kind
            self._derived(config_id, raw, derived)
            self.outcomes[config_id] = UNREADABLE.get(RefusalKind(kind)) if kind else None
        return config_id

    def _derived(self, config_id: str, raw: bytes, derived: Derived) -> None:
        row = msgspec.structs.astuple(derived.fingerprint)
        text, blob = _kept(raw)
        if derived.model is None:
            refusal = (config_id, derived.fingerprint.refusal_kind, derived.fingerprint.refusal_reason)
            self.columns["refusals"].add(refusal)
        else:
            self._design(derived, _of_design(row))
        evidence = [(e.field, _json(e.value).decode(), str(e.origin), e.source) for e in derived.evidence]
        known = (config_id, text, blob, len(raw), *_of_config(row))
        self.columns["configs"].add((*known, evidence, list(derived.unread), derived.stored.reason))
        for each in derived.stored.rows:
            self.columns["stored"].add((config_id, *msgspec.structs.astuple(each)))
        for each in derived.constants:
            self.columns["constants"].add(
                (config_id, each.field, _json(each.value).decode(), str(each.origin), each.source)
            )
        for feature in dict.fromkeys(derived.features):
            self.columns["features"].add((config_id, feature))

    def _design(self, derived: Derived, row: tuple[Any, ...]) -> None:
        """Give a design once, and again wherever it may differ from the one of that id: that is judged in the end."""
        design_id, said = row[0], hashlib.blake2b(_json(row), digest_size=8).digest()
        is_new = design_id not in self.designs
        if not is_new and self.designs[design_id] == said:
            return
        tabulated = _tabulated(derived.model) if is_new else None
        self.designs[design_id] = said
        self.columns["designs"].add(row)
        if tabulated:
            self._tabulate(design_id, *tabulated)

    def _tabulate(self, design_id: str, layers: Rows, parameters: Rows, states: Rows) -> None:
        for row in layers:
            self.columns["layers"].add((design_id, *_layer(row)))
        for name, rows in (("parameters", parameters), ("states", states)):
            _add_numbered(self.columns[name], design_id, rows)

    def take(self, made: Mapping[str, pl.DataFrame]) -> None:
        """Configs derived elsewhere, as tables that `tables` made; those known already are left out.

        Take a text before the repository that has it is added: what is derived here cannot be compared with it.
        """
        kinds = dict(made[REFUSALS.name].select("config_id", pl.col("kind").cast(pl.String)).iter_rows())
        configs = [c for c in made[CONFIGS.name]["config_id"] if c not in self.outcomes]
        self.outcomes |= {c: UNREADABLE.get(RefusalKind(kinds[c])) if c in kinds else None for c in configs}
        designs = [d for d in made[DESIGNS.name]["design_id"].unique() if d not in self.designs]
        self.designs |= dict.fromkeys(designs)
        self.columns[DESIGNS.name].extend(made[DESIGNS.name])
        taken = (
            ("config_id", configs, OF_CONFIGS),
            ("subject", configs, (STORED,)),
            ("design_id", designs, OF_DESIGNS[1:]),
        )
        for key, fresh, of in taken:
            for table in of:
                self.columns[table.name].extend(made[table.name].filter(pl.col(key).is_in(fresh)))

    def finish(self, extra: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Give what is left; `extra` as in `tables`."""
        for name, rows in extra.items():
            for row in rows:
                self.columns[name].add(tuple(row.get(c) for c in TABLES[name].columns))
        for columns in self.columns.values():
            columns.flush()


_layer = itemgetter(*LAYERS.columns[1:])
_parameter = itemgetter(*(c for c in PARAMETERS.columns if c not in ("design_id", "ordinal")))
_state = itemgetter(*(c for c in STATES.columns if c not in ("design_id", "ordinal")))


def _tabulated(model: Any) -> tuple[Rows, Rows, Rows]:
    """The rows of a design, all made before the first is kept."""
    return tabulate.layer_rows(model), tabulate.parameter_rows(model), tabulate.state_rows(model)


def _add_numbered(columns: Columns, design_id: str, rows: list[dict[str, Any]]) -> None:
    """Add rows of one design, numbered within each layer."""
    values = _parameter if columns.table is PARAMETERS else _state
    place, ordinal = (None, None), 0
    for row in rows:
        ordinal = ordinal + 1 if place == (row["run"], row["slot"]) else 0
        place = (row["run"], row["slot"])
        run, slot, *rest = values(row)
        columns.add((design_id, run, slot, ordinal, *rest))


def _kept(raw: bytes) -> tuple[str | None, bytes | None]:
    """The text as it is stored: as text, as bytes where it is not UTF-8, not at all where it is too large."""
    if len(raw) > MAX_BYTES:
        return None, None
    try:
        return raw.decode(), None
    except UnicodeDecodeError:
        return None, raw
