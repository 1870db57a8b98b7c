"""The embedded catalogue: well-known models with the architecture keys of their published configs, dated and cited.

One JSON file per organisation stands beside this module; `README.md` there says what a row holds and how to add one.
"""

from __future__ import annotations

import tomllib
from datetime import date
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.errors import Corrupt

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


class Fact(StrEnum):
    """What a paper, a card or a repository states of a model and no config holds."""

    PARAMS_TOTAL = "params_total"
    PARAMS_ACTIVE = "params_active"
    TRAINING_TOKENS = "training_tokens"
    RELEASE_DATE = "release_date"
    CREATED_AT = "created_at"  # day the repository was created on the Hub
    GPU_HOURS = "gpu_hours"
    MTP_ACCEPTANCE = "mtp_acceptance"
    OPTIMIZER = "optimizer"
    TRAINING_PRECISION = "training_precision"
    CHECKPOINT_BYTES = "checkpoint_bytes"


UNITS = {
    Fact.PARAMS_TOTAL: "parameters",
    Fact.PARAMS_ACTIVE: "parameters",
    Fact.TRAINING_TOKENS: "tokens",
    Fact.RELEASE_DATE: "date",
    Fact.CREATED_AT: "date",
    Fact.GPU_HOURS: "H800 GPU-hours",
    Fact.MTP_ACCEPTANCE: "percent",
    Fact.OPTIMIZER: "text",
    Fact.TRAINING_PRECISION: "text",
    Fact.CHECKPOINT_BYTES: "bytes",
}
"""The one unit each fact is stated in."""


class Content(StrEnum):
    """What a published checkpoint total counts."""

    LANGUAGE_MODEL = "language_model"  # params_total of the contract: tied weights once, router correction biases in
    TOWERS = "towers"  # vision or audio encoders and their projectors
    MTP = "mtp"  # multi-token-prediction layers
    MTP_TABLES = "mtp_tables"  # their own copies of the embedding and the output head
    BUFFERS = "buffers"  # persistent buffers other than correction biases
    TIED_HEAD = "tied_head"  # the output head stored although it equals the embedding
    SCALES = "scales"  # quantization scales
    UNUSED = "unused"  # keys and values of layers that read the cache of another
    NO_CORRECTION_BIAS = "no_correction_bias"  # the router correction biases are left out of the count
    PACKED = "packed"  # several weights counted as one element: the figure is no count of weights


class Reported(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fact as its source states it. `value` is a whole number, an ISO date of a day, or a word."""

    fact: Fact
    value: int | str
    unit: str
    citation: str

    def __post_init__(self) -> None:
        """Raises ValueError where a day is none."""
        if self.unit == "date":
            date.fromisoformat(str(self.value))


class Beside(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Elements of the figure that no derivation covers, with the count that they come from."""

    what: Content
    elements: int
    source: str


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A parameter total published for the checkpoint, to hold a derivation against.

    `holds` names what the figure counts; empty means that nobody has worked it out yet. `beside` counts what of it
    stands outside the derived model.
    """

    params_total: int
    source: str
    holds: tuple[Content, ...] = ()
    beside: tuple[Beside, ...] = ()


class Twin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same model stored otherwise in another repository, with the size published for it.

    `elements` is the Hub's own count, which is no count of weights for packed forms; `bytes` are of tensors or a file.
    """

    repo: str
    form: str
    source: str
    elements: int | None = None
    bytes: int | None = None


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model. `config` holds the architecture keys as published; keys that shape no tensor are left out.

    A row may instead name with `like` the repository whose config it shares, `but` for some keys and `without` others.
    """

    repo: str
    source: str
    retrieved: date
    config: dict[str, Any] = {}
    like: str | None = None
    but: dict[str, Any] = {}
    without: tuple[str, ...] = ()
    expect: Expected | None = None
    reported: tuple[Reported, ...] = ()
    twins: tuple[Twin, ...] = ()

    @property
    def days(self) -> dict[str, str]:
        """The day of its release, as cited, and the day its repository was created, by column of `models`."""
        named = (Fact.RELEASE_DATE, Fact.CREATED_AT)
        found = [(r.fact.value, str(r.value)) for r in self.reported if r.fact in named]
        return dict(reversed(found))

    @property
    def raw(self) -> bytes:
        """The config as canonical JSON: keys sorted, no spaces, so equal configs have equal bytes."""
        return msgspec.json.encode(self.config, order="sorted")


def load() -> list[Entry]:
    """Every entry of the catalogue, ordered by repository. Raises Corrupt, naming file and row, where one is wrong."""
    entries = [entry for file in _data_files() for entry in read_rows(file)]
    return resolved(sorted(entries, key=lambda entry: entry.repo))


def resolved(entries: list[Entry]) -> list[Entry]:
    """The entries, each with a config. Raises Corrupt where one is like a row that has no config of its own."""
    own = {entry.repo: entry.config for entry in entries if entry.like is None}
    return [entry if entry.like is None else _sharing(entry, own.get(entry.like)) for entry in entries]


def _sharing(entry: Entry, shared: dict[str, Any] | None) -> Entry:
    """The entry with the config that it shares, changed where it says so."""
    if shared is None:
        message = f"catalogue entry {entry.repo} is wrong: it is like {entry.like}, which has no config of its own here"
        raise Corrupt(message)
    if absent := set(entry.without) - set(shared):
        message = f"catalogue entry {entry.repo} is wrong: it leaves out {sorted(absent)}, which {entry.like} has not"
        raise Corrupt(message)
    kept = {key: value for key, value in shared.items() if key not in entry.without}
    return msgspec.structs.replace(entry, config=kept | entry.but)


@cache
def dated() -> date:
    """The day the catalogue stands for; a snapshot made from it alone carries this date."""
    return msgspec.convert(_meta()["date"], date)


def absent() -> dict[str, str]:
    """Much downloaded text generators that the catalogue does not hold, each with the reason."""
    return msgspec.convert(_meta()["absent"], dict[str, str])


def _meta() -> dict[str, Any]:
    return tomllib.loads((files(__name__) / "catalogue.toml").read_text("utf-8"))


def _data_files() -> list[Traversable]:
    folder = files(__name__)
    return sorted((item for item in folder.iterdir() if item.name.endswith(".json")), key=lambda item: item.name)


def read_rows(file: Traversable) -> list[Entry]:
    """The entries of one organisation's file, checked. Raises Corrupt, naming file and row, where one is wrong."""
    try:
        entries = msgspec.json.decode(file.read_bytes(), type=list[Entry])
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        message = f"catalogue file {file.name} cannot be read: {error}; reinstall the package or correct the row"
        raise Corrupt(message) from error
    for entry in entries:
        _check(entry, file.name)
    return entries


def _check(entry: Entry, file_name: str) -> None:
    """Raise Corrupt where a row lacks what every reader relies on."""
    faults = [
        (
            entry.like is None and not isinstance(entry.config.get("model_type"), str),
            "its config has no model_type",
        ),
        (entry.like is not None and bool(entry.config), "it has a config and shares one"),
        (entry.like is None and bool(entry.but or entry.without), "it changes a config that it does not share"),
        (not entry.source.strip(), "it does not say where the config was read"),
        (
            entry.repo.partition("/")[0] + ".json" != file_name,
            f"it stands in {file_name}, not in its organisation's file",
        ),
        (any((t.elements is None) == (t.bytes is None) or not t.source for t in entry.twins), "a twin has no one size"),
        (entry.retrieved > dated(), "it was retrieved after the catalogue's own date"),
        (any(not fact.citation.strip() for fact in entry.reported), "a fact has no citation"),
        (
            entry.expect is not None and not _counted(entry.expect),
            "its expectation counts beside what it does not hold",
        ),
        (
            any(fact.unit != UNITS[fact.fact] for fact in entry.reported),
            "a fact is stated in another unit than its own",
        ),
    ]
    for wrong, reason in faults:
        if wrong:
            message = f"catalogue entry {entry.repo} is wrong: {reason}"
            raise Corrupt(message)


def _counted(expect: Expected) -> bool:
    """Whether everything counted beside is among what the figure holds, more than nothing, and has a source."""
    return all(b.what in expect.holds and b.elements > 0 and b.source.strip() for b in expect.beside)
