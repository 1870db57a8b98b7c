"""A model, and models side by side, as a notebook or a script uses them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import polars as pl

from atlas.derived import Derived
from atlas.numbers import measure
from atlas.numbers.fingerprint import Fingerprint
from atlas.numbers.tabulate import layers_expanded, state_rows
from pipeline.ask.found import Adapter, Found
from pipeline.ask.whatif import warnings
from pipeline.errors import Invalid, Usage
from pipeline.session import html
from pipeline.sheets import show
from pipeline.sheets.compare import as_object, table
from pipeline.sheets.compared import Compared
from pipeline.sheets.facts import facts
from pipeline.sheets.lines import plain
from pipeline.sheets.widths import context_of, width_of


class Model:
    """One model with all that its sheet has. Every column of the fingerprint is an attribute: `m.params_total`."""

    def __init__(self, found: Found, derived: Derived | None = None, changes: tuple[str, ...] = ()) -> None:
        self.found, self.changes = found, changes
        self.derived = derived or found.derived

    @property
    def name(self) -> str:
        """The name it has here."""
        return self.found.title

    @property
    def title(self) -> str:
        """Its name, with the keys that a what-if sets."""
        return f"{self.name} with {', '.join(self.changes)}" if self.changes else self.name

    @property
    def source(self) -> str:
        """Where its config is from."""
        return self.found.source

    @property
    def adapter(self) -> Adapter | None:
        """What an adapter is, whose, and what it weighs itself; None for a model."""
        return self.found.adapter

    @property
    def fingerprint(self) -> Fingerprint:
        """Every column; null where the model was refused or a number does not apply."""
        return self.derived.fingerprint

    def __getattr__(self, name: str) -> Any:
        if name not in Fingerprint.__struct_fields__:
            raise AttributeError(f"a model has no {name!r}: the columns are those of view fingerprints")
        return getattr(self.derived.fingerprint, name)

    @property
    def evidence(self) -> pl.DataFrame:
        """Where every value comes from: field, value, origin, source."""
        rows = [{"field": e.field, "value": str(e.value), "origin": e.origin, "source": e.source}
                for e in self.derived.evidence]  # fmt: skip
        return pl.DataFrame(rows, schema=dict.fromkeys(("field", "value", "origin", "source"), pl.String()))

    @property
    def layers(self) -> pl.DataFrame:
        """One row a mixer, in order."""
        made = [] if self.derived.model is None else msgspec.to_builtins(layers_expanded(self.derived.model))
        return pl.DataFrame(made, infer_schema_length=None)

    @property
    def states(self) -> pl.DataFrame:
        """What its layers keep, runs of equal ones together."""
        made = [] if self.derived.model is None else state_rows(self.derived.model, drafts=True)
        return pl.DataFrame(made, infer_schema_length=None)

    @property
    def reported(self) -> pl.DataFrame:
        """What sources state of it: fact, value, unit, citation."""
        columns = ("fact", "value", "unit", "citation")
        return pl.DataFrame(list(self.found.reported), schema=dict.fromkeys(columns, pl.String()), orient="row")

    def cache(self, at: int | str = "128k", dtype: str = "bf16", sequences: int = 1) -> int | None:
        """Logical bytes of the cache: so many sequences of `at` tokens, elements in `dtype`; None where it has none.

        Raises `Invalid` for a model without a structure, `Usage` for a context or type that is none.
        """
        tokens, width = context_of(str(at)), width_of(dtype)
        if sequences < 1:
            raise Usage(f"sequences={sequences}: at least one is wanted")
        if self.derived.model is None:
            f = self.derived.fingerprint
            raise Invalid(f"{self.name} is {f.verdict}, so its cache is not known: {f.refusal_reason}")
        if self.derived.fingerprint.kv_bytes_4k is None:
            return None
        return sequences * math.ceil(measure.kv_bytes(self.derived.model, tokens, width))

    def what_if(self, changes: Mapping[str, Any] = MappingProxyType({}), /, **more: Any) -> Model:
        """The model with keys of its config set: `m.what_if(num_key_value_heads=4)`; a key with dots in a mapping.

        `warnings` of what comes says first where nothing reads a key, or no shape changes. Raises `Usage`.
        """
        said = [f"{k}={msgspec.json.encode(v).decode()}" for k, v in {**changes, **more}.items()]
        every = [*self.changes, *said]
        return Model(self.found, self.found.what_if(every), tuple(every))

    @property
    def warnings(self) -> list[str]:
        """What must be known of a what-if before its numbers: keys that nothing reads, changes of no shape."""
        return warnings(self.found.derived, self.derived, list(self.changes)) if self.changes else []

    def as_dict(self) -> dict[str, Any]:
        """What `atlas show --json` prints."""
        return show.object_of(self.found, show.View(changes=self.changes))

    @property
    def sheet(self) -> str:
        """What `atlas show` prints."""
        return plain(show.sheet_of(self.found, show.View(changes=self.changes)))

    def __repr__(self) -> str:
        f = self.derived.fingerprint
        total = "no total" if f.params_total is None else f"{f.params_total:,} parameters"
        return f"<{self.title}: {f.verdict}, {total}>"

    def _repr_html_(self) -> str:
        return html.model(self.title, self.derived.fingerprint)


class Comparison:
    """Models side by side: `frame` has one row a fact, with whether it differs."""

    def __init__(self, compared: Compared) -> None:
        self._compared = compared

    @property
    def frame(self) -> pl.DataFrame:
        """Columns section, fact, one a model, and differs; values as the command prints them."""
        names = _distinct([s.name for s in self._compared.subjects])
        rows = [
            {"section": section, "fact": label.strip()}
            | {n: None if v is None else show_value(v) for n, v in zip(names, values, strict=True)}
            | {"differs": any(v != values[0] for v in values)}
            for section, found in facts(self._compared)
            for label, show_value, values in found
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def as_dict(self) -> dict[str, Any]:
        """What `atlas compare --json` prints."""
        return as_object(self._compared)

    def __repr__(self) -> str:
        return plain(table(self._compared))

    def _repr_html_(self) -> str:
        return html.comparison(self.frame)


def _distinct(names: list[str]) -> list[str]:
    return [n if names.count(n) == 1 else f"{n} ({i + 1})" for i, n in enumerate(names)]
