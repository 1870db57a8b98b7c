"""What `atlas.open` gives: a snapshot whose tables are polars frames, and its models by any name."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

import duckdb
import polars as pl

from pipeline.ask.found import Asking
from pipeline.ask.resolver import resolve
from pipeline.errors import NotFound, QueryRefused, Usage
from pipeline.session import html
from pipeline.session.model import Comparison, Model
from pipeline.sheets.compare import Wanted, together
from pipeline.sheets.widths import context_of, width_of
from pipeline.store import diff, shelf
from pipeline.store.versions import require_readable
from pipeline.text import shorten, terminal
from schemas.registry import TABLES
from schemas.tables import model as pandera_model

if TYPE_CHECKING:
    import pandera.polars as pa

VIEWS = ("fingerprints", "evidence", "layers_expanded", "unread_keys")
NAMES = (*VIEWS, *TABLES)
Kind = Literal["polars", "pandas", "arrow"]


def open_snapshot(where: str | Path = ".", snapshot: str | None = None, *, offline: bool = False) -> Snapshot:
    """Open a home (its latest snapshot, or the one dated `snapshot`), a `.duckdb` file, or the URL of one.

    Raises:
        NotFound: there is no snapshot there. Corrupt: it is damaged. Upstream: the address cannot be had.

    >>> snap = open_snapshot(home)
    >>> snap.table("fingerprints").select("repo_id").collect().height == len(snap)
    True
    """
    stack = ExitStack()
    if str(where).startswith(("https://", "http://")):
        from pipeline.hub.download import download

        file = stack.enter_context(download(str(where)))
        return Snapshot(file, file.stem, Asking(home=Path(), offline=offline), stack)
    path = Path(where).expanduser()
    if path.is_file():
        return Snapshot(path, path.stem, Asking(home=path.parent, offline=offline), stack)
    entry, file = shelf.locate(path, snapshot)
    return Snapshot(file, entry.id, Asking(home=path, snapshot=snapshot, offline=offline), stack)


class Snapshot:
    """One snapshot, read-only. Close it, or use it as a context manager, where it came from a URL."""

    def __init__(self, path: Path, name: str, asking: Asking, stack: ExitStack) -> None:
        self.path, self.asking, self._stack = path, asking, stack
        try:
            self._con, self.id = _connected(path, name)
        except BaseException:
            stack.close()  # what was downloaded is removed
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; one that was downloaded is removed."""
        self._con.close()
        self._stack.close()

    def __len__(self) -> int:
        return int(self._con.execute("SELECT count(*) FROM fingerprints").fetchall()[0][0])

    def __repr__(self) -> str:
        return f"<snapshot {self.id}: {len(self):,} models, {self.path}>"

    @property
    def tables(self) -> tuple[str, ...]:
        """The names that `table` takes."""
        return NAMES

    def table(self, name: str) -> pl.LazyFrame:
        """A table or view whole, as a LazyFrame of the columns of the data dictionary. Raises `NotFound`."""
        if name not in NAMES:
            raise NotFound(f"no table is named '{shorten(terminal(name), 60)}': there are {', '.join(NAMES)}")
        return pl.DataFrame(self._con.sql(f'SELECT * FROM "{name}"')).lazy()

    def schema(self, name: str) -> pa.DataFrameSchema:
        """The pandera model that a table was validated with before it was published. Raises `NotFound` for a view."""
        if name not in TABLES:
            raise NotFound(f"'{shorten(terminal(name), 60)}' has no model of its own: {', '.join(TABLES)} have")
        return pandera_model(name)

    def model(self, name: str) -> Model:
        """A model by any name: of the atlas, OWNER/NAME, or a path. Raises `NotFound`, `Usage`, `Invalid`, `Upstream`.

        >>> open_snapshot(home).model("llama 3.1 8b").params_total
        8030261248
        """
        return Model(resolve(name, self._within()))

    def _within(self) -> Asking:
        """Names are looked up in this file, whatever the home's latest is."""
        import msgspec

        return msgspec.structs.replace(self.asking, file=str(self.path), label=self.id)

    def cache(self, at: int | str = "128k", dtype: str = "bf16", sequences: int = 1) -> pl.DataFrame:
        """Logical bytes of the cache of every model: so many sequences of `at` tokens, elements in `dtype`.

        >>> at = open_snapshot(home).cache(at="128k")
        >>> at.filter(pl.col("repo_id") == "meta-llama/Llama-3.1-8B")["cache_bytes"].to_list()
        [17179869184]
        """
        tokens, width = context_of(str(at)), width_of(dtype)
        if sequences < 1:
            raise Usage(f"sequences={sequences}: at least one is wanted")
        query = (
            f"SELECT repo_id, {tokens} AS tokens, {sequences} * kv_bytes(repo_id, {tokens}, {width}) AS cache_bytes"
            " FROM fingerprints WHERE kv_bytes_4k IS NOT NULL ORDER BY repo_id"
        )
        return pl.DataFrame(self._con.sql(query))

    def compare(self, *models: str | Model, at: int | str = "128k", dtype: str = "bf16") -> Comparison:
        """Models side by side, by any names, what-ifs too. Raises `Usage` for fewer than two, `Invalid` for a refused.

        >>> found = open_snapshot(home).compare("llama 3.1 8b", "qwen3 8b")
        >>> found.frame.filter(pl.col("fact") == "layers").row(0)[2:]
        ('32', '36', True)
        """
        if len(models) < 2:
            raise Usage("one model is nothing to compare: name two or more")
        made = [m if isinstance(m, Model) else self.model(m) for m in models]
        wanted = Wanted(at=context_of(str(at)), dtype=dtype, width=width_of(dtype))
        return Comparison(together([(m.found, m.derived, m.changes) for m in made], wanted))

    def diff(self, other: Snapshot | str | Path) -> diff.Difference:
        """What changed from the other snapshot to this one: another one, its file, or its date in the same home."""
        if isinstance(other, Snapshot):
            return diff.of_files(other.path, self.path)
        if Path(other).is_file():
            return diff.of_files(Path(other), self.path)
        _, path = shelf.locate(self.asking.home, str(other))
        return diff.of_files(path, self.path)

    def sql(self, query: str, parameters: Mapping[str, Any] = MappingProxyType({}), to: Kind = "polars") -> Any:
        """One SELECT as a polars frame, or pandas or Arrow where they are installed. Raises `QueryRefused`, `Usage`.

        It runs in this process with this process's rights, so it may read files of yours; the snapshot is read-only.

        >>> open_snapshot(home).sql("SELECT count(*) AS n FROM snapshot").height
        1
        """
        try:
            statements = self._con.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryRefused("one SELECT is wanted")
            frame = pl.DataFrame(self._con.sql(query, params=dict(parameters) or None))
        except duckdb.Error as error:
            raise QueryRefused(str(error).partition("\n\n")[0]) from error
        return handed_on(frame, to)

    def _repr_html_(self) -> str:
        rows = self._con.execute(
            "SELECT coalesce(attention_kind, 'refused'), count(*) FROM fingerprints GROUP BY ALL ORDER BY 2 DESC, 1"
        ).fetchall()
        return html.snapshot(self.id, len(self), rows)


_MANIFEST = "SELECT snapshot_id, schema_version FROM snapshot WHERE schema_version IS NOT NULL"


def _connected(path: Path, name: str) -> tuple[duckdb.DuckDBPyConnection, str]:
    """A connection to a snapshot's file, and the id that it has of itself.

    Raises `NotFound` for a file that is no snapshot, or one of another major version.
    """
    try:
        con = duckdb.connect(str(path), read_only=True)
        found = next(iter(con.execute(_MANIFEST).fetchall()), None)
    except duckdb.Error as error:
        raise NotFound(f"{name} is no snapshot: {str(error).partition(chr(10))[0]}") from error
    if found is None or not str(found[1]).partition(".")[0].isdecimal():
        con.close()
        raise NotFound(f"{name} is no snapshot: its manifest states no version of its columns")
    require_readable(name, str(found[1]))
    return con, str(found[0] or name)


def handed_on(frame: pl.DataFrame, to: str) -> Any:
    """A frame in the library asked for; raises `Usage`, saying what to install."""
    if to == "polars":
        return frame
    if to not in ("pandas", "arrow"):
        raise Usage(f"to={to!r}: say polars, pandas or arrow")
    try:
        return frame.to_pandas() if to == "pandas" else frame.to_arrow()
    except ModuleNotFoundError as error:
        raise Usage(f"{error.name} is not installed: pip install {error.name}, or keep the polars frame") from error
