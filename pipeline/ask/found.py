"""What a MODEL turned out to be: its config, where that was found, and what lies beside it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import msgspec

from atlas import proof
from atlas.derived import Derived
from atlas.interpret import derive, refusal
from atlas.refusal import Refused
from pipeline.ask.whatif import changed
from pipeline.errors import Usage
from pipeline.sources import beside
from pipeline.sources.beside import Beside
from pipeline.sources.disk import Content


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """Where names are looked up: the home and its snapshot, the Hub, and whether the network may be used.

    `file` is a snapshot's own file, whatever the home holds, and `label` what it is called. `roots` are the folders
    whose files may be named, all of them where it is None.
    """

    home: Path = Path()
    snapshot: str | None = None
    endpoint: str | None = None
    offline: bool = False
    file: str | None = None
    label: str = ""
    roots: tuple[Path, ...] | None = None


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter as its own files say: weights and bytes are of its headers, null where it has none here."""

    method: str
    base_model: str | None
    rank: int | None = None
    alpha: float | None = None
    targets: tuple[str, ...] = ()
    params: int | None = None
    bytes: int | None = None
    tensors: int | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One model. `source` says where its config is from; `made` is what was measured where there is no config."""

    name: str
    source: str
    raw: Content = b""
    revision: str | None = None
    path: str | None = None
    snapshot: str | None = None
    design_id: str | None = None
    config_source: str | None = None
    cite: str | None = None
    check: str | None = None  # what the snapshot says of its total against an independent one
    as_of: str | None = None
    reported: tuple[tuple[str, str, str, str], ...] = ()
    beside: Beside | None = None
    adapter: Adapter | None = None
    made: Derived | None = None
    note: str | None = None

    @property
    def title(self) -> str:
        """The name beside others: every checkpoint's file is called config.json, and its folder tells them apart."""
        path = None if self.path is None else Path(self.path)
        return self.name if path is None or path.name != "config.json" else path.absolute().parent.name or self.name

    @cached_property
    def derived(self) -> Derived:
        """The model as it is, with what lies beside its config."""
        if self.made is not None:
            return self.made
        if isinstance(self.raw, Refused):
            return refusal(self.raw, self.name, None)
        plain = proof.published(derive(self.raw, name=self.name), self.design_id)
        found = plain if self.beside is None else beside.weighed(plain, self.raw, self.beside)
        known: dict[str, str] = {} if self.revision is None else {"revision": self.revision}
        known |= {} if self.check is None or found.model is None else {"check": self.check}
        row = msgspec.structs.replace(found.fingerprint, **known)
        return msgspec.structs.replace(found, fingerprint=row)

    def what_if(self, changes: list[str] | None) -> Derived:
        """The model with keys of its config set; raises `Usage` for a change that cannot be made."""
        if not changes:
            return self.derived
        if self.made is not None:
            raise Usage(f"--set changes a config, and {self.source} has none: give the config itself")
        if isinstance(self.raw, Refused):
            return self.derived
        return proof.alike(changed(self.raw, self.name, changes), self.derived)
