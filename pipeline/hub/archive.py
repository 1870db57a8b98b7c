"""What the crawls brought home, kept for good: every distinct config byte for byte, and which repository had it when.

One SQLite file, `archive/hub.sqlite`, written by one process at a time, each batch in a transaction, so that a crash
loses at most the batch in hand. Configs and attempts are only ever added. Texts are addressed by their sha256 and
repositories by a column: no path is made from either.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import orjson

from pipeline import durable
from pipeline.errors import AtlasError, Corrupt
from pipeline.hub.attempts import Attempt, Job, Judged, Run
from schemas.vocabulary import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipeline.hub.entry import Entry

FORMAT = 1

SCHEMA = """
CREATE TABLE runs (run INTEGER PRIMARY KEY AUTOINCREMENT, selection TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE finishes (run INTEGER PRIMARY KEY, summary TEXT NOT NULL);
CREATE TABLE blobs (digest TEXT PRIMARY KEY, raw BLOB NOT NULL);
CREATE TABLE attempts (attempt INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, repo_id TEXT NOT NULL,
    revision TEXT NOT NULL, outcome TEXT NOT NULL, digest TEXT, detail TEXT, access TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE state (repo_id TEXT PRIMARY KEY, last INTEGER NOT NULL, good INTEGER) WITHOUT ROWID;
CREATE TABLE model_types (model_type TEXT PRIMARY KEY, run INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE listing (selection TEXT NOT NULL, repo_id TEXT NOT NULL, run INTEGER NOT NULL, vanished INTEGER NOT NULL,
    revision TEXT, model_type TEXT, downloads INTEGER, access TEXT NOT NULL, verdict TEXT, detail TEXT,
    facts BLOB NOT NULL, PRIMARY KEY (selection, repo_id)) WITHOUT ROWID;
"""

# What each listed repository came to. An attempt counts if it was made at the listed commit; outcomes that may pass at
# the same commit are due again after a while, and when what the listing says of access changes.
JUDGED = """
SELECT l.repo_id, l.revision, l.facts, l.vanished, l.model_type, l.downloads, l.access, g.digest AS good_digest,
    g.revision AS good_revision, g.day AS good_day,
    coalesce(l.detail, CASE WHEN a.revision = l.revision THEN a.detail END) AS detail,
    CASE WHEN l.verdict IS NOT NULL THEN l.verdict
        WHEN a.revision IS NOT l.revision THEN 'deferred'
        WHEN a.outcome NOT IN ('ok', 'unsupported', 'too_large') AND (a.access <> l.access OR a.day < :due)
            THEN 'deferred'
        WHEN a.outcome = 'ok' AND a.run <= :finished THEN 'unchanged'
        ELSE a.outcome END AS outcome
FROM listing l LEFT JOIN state s ON s.repo_id = l.repo_id
LEFT JOIN attempts a ON a.attempt = s.last LEFT JOIN attempts g ON g.attempt = s.good
WHERE l.selection = :selection AND l.run = :run
"""


class Archive:
    """The archive of a home, open for its one writer. Close it, or use it as a context manager.

    Raises:
        Busy: another process has it open.
        Corrupt: the file is not an archive, or of a newer format.
    """

    def __init__(self, home: Path) -> None:
        folder = home / "archive"
        self.path = folder / "hub.sqlite"
        self._open = ExitStack()
        with ExitStack() as undo:
            undo.enter_context(durable.lock(folder))
            self._connection = self._connect()
            self._open = undo.pop_all()

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA synchronous = FULL")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.OperationalError as error:
            raise AtlasError(f"cannot open {self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise self.damaged(error) from error
        if version == 0:
            self._create(connection)
        elif version != FORMAT:
            raise Corrupt(f"{self.path} is of format {version}, this version reads {FORMAT}; update, or move it away")
        return connection

    def damaged(self, error: sqlite3.DatabaseError) -> Corrupt:
        """What to say when SQLite cannot make sense of the file."""
        return Corrupt(f"{self.path} is damaged ({error}); move it away to crawl anew")

    def _create(self, connection: sqlite3.Connection) -> None:
        with durable.transaction(connection, self.path, point="archive.create"):
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {FORMAT}")

    def close(self) -> None:
        """Let the next writer in."""
        self._connection.close()
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, selection: str, *, day: str, due: str) -> Run:
        """Start a run on `day`; outcomes that may pass (gated, missing, ...) count until they are older than `due`."""
        with durable.transaction(self._connection, self.path, point="archive.begin"):
            run = self._one("INSERT INTO runs (selection, day) VALUES (?, ?) RETURNING run", selection, day)
        finished = self._one("SELECT coalesce(max(run), 0) FROM finishes")
        before = self._one("SELECT max(run) FROM finishes JOIN runs USING (run) WHERE selection = ?", selection)
        return Run(run, selection, day, due, finished, before)

    def _one(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement, values).fetchone()[0]

    def list_page(self, run: Run, page: Iterable[Entry], *, vanished: bool = False) -> None:
        """Take in a page of the listing."""
        rows = [_listing_row(run, entry, vanished) for entry in page]
        types = [(row[5], run.run) for row in rows if row[5] is not None]
        with durable.transaction(self._connection, self.path, point="archive.listing"):
            self._connection.executemany(f"INSERT OR REPLACE INTO listing VALUES ({', '.join('?' * 11)})", rows)
            self._connection.executemany("INSERT OR IGNORE INTO model_types VALUES (?, ?)", types)

    def listed(self, run: Run) -> int:
        """How many repositories this run's listing has."""
        return self._one(
            "SELECT count(*) FROM listing WHERE selection = ? AND run = ? AND NOT vanished", run.selection, run.run
        )

    def absent(self, run: Run) -> list[tuple[str, bool, dict[str, Any]]]:
        """(repo_id, whether already found missing, facts) of those an earlier run listed and this one does not."""
        found = self._connection.execute(
            """SELECT repo_id, vanished, facts FROM listing
            WHERE selection = ? AND run < ? AND run >= ? ORDER BY repo_id""",
            (run.selection, run.run, run.before if run.before is not None else run.run),
        )
        return [(repo_id, bool(vanished), orjson.loads(facts)) for repo_id, vanished, facts in found]

    def jobs(self, run: Run) -> list[Job]:
        """What is to fetch: one of each new model_type first, then the most downloaded."""
        ordered = self._connection.execute(
            f"""WITH due AS (SELECT * FROM ({JUDGED}) WHERE outcome = 'deferred'), ranked AS (
                SELECT *, row_number() OVER (PARTITION BY model_type ORDER BY downloads DESC, repo_id) AS place
                FROM due)
            SELECT repo_id, revision, access FROM ranked LEFT JOIN model_types t USING (model_type)
            ORDER BY NOT (place = 1 AND coalesce(t.run, 0) > :finished), downloads DESC, repo_id""",
            run.named(),
        )
        return [Job(*row) for row in ordered]

    def record(self, run: Run, attempts: Iterable[Attempt]) -> None:
        """Keep what a batch of fetches brought."""
        first = self._one("SELECT coalesce(max(attempt), 0) + 1 FROM attempts")
        rows = [_attempt_row(run, number, attempt) for number, attempt in enumerate(attempts, first)]
        blobs = [(row["digest"], row["raw"]) for row in rows if row["digest"] is not None]
        with durable.transaction(self._connection, self.path, point="archive.batch"):
            self._connection.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs)
            self._connection.executemany(
                """INSERT INTO attempts
                VALUES (:attempt, :run, :repo_id, :revision, :outcome, :digest, :detail, :access, :day)""",
                rows,
            )
            self._connection.executemany(
                """INSERT INTO state VALUES (:repo_id, :attempt, iif(:digest IS NULL, NULL, :attempt))
                ON CONFLICT DO UPDATE SET last = excluded.last, good = coalesce(excluded.good, good)""",
                rows,
            )

    def judged(self, run: Run) -> Iterator[Judged]:
        """What every repository came to, by name; configs are read as they are asked for.

        Raises:
            Corrupt: the file is damaged, or a stored config does not have the digest it is filed under.
        """
        try:
            yield from self._judged(run)
        except sqlite3.DatabaseError as error:
            raise self.damaged(error) from error

    def _judged(self, run: Run) -> Iterator[Judged]:
        rows = self._connection.execute(
            f"""SELECT repo_id, outcome, revision, facts, detail, good_digest, raw, good_revision, good_day
            FROM ({JUDGED}) LEFT JOIN blobs ON digest = good_digest ORDER BY repo_id""",
            run.named(),
        )
        for repo_id, outcome, revision, facts, detail, digest, raw, good_revision, good_day in rows:
            if digest is not None and (raw is None or _digest(raw) != digest):
                raise Corrupt(f"{self.path}: a stored config does not match its digest {digest}; move the file away")
            yield Judged(repo_id, Outcome(outcome), revision, orjson.loads(facts), detail, raw, good_revision, good_day)

    def outcomes(self, run: Run) -> dict[str, int]:
        """How many repositories came to each outcome."""
        return dict(self._connection.execute(f"SELECT outcome, count(*) FROM ({JUDGED}) GROUP BY outcome", run.named()))

    def model_types(self, run: Run) -> dict[str, int]:
        """How many listed repositories name each model_type."""
        counted = f"SELECT model_type, count(*) FROM ({JUDGED}) WHERE model_type IS NOT NULL GROUP BY model_type"
        return dict(self._connection.execute(counted, run.named()))

    def new_model_types(self, run: Run) -> list[str]:
        """Those that no finished run had seen."""
        found = self._connection.execute("SELECT model_type FROM model_types WHERE run > ? ORDER BY 1", (run.finished,))
        return [model_type for (model_type,) in found]

    def last_summary(self, run: Run) -> dict[str, Any] | None:
        """The summary of the last finished run of this selection."""
        found = self._connection.execute("SELECT summary FROM finishes WHERE run = ?", (run.before,)).fetchone()
        return found and orjson.loads(found[0])

    def finish(self, run: Run, summary: dict[str, Any]) -> None:
        """Mark a run as brought to its end: what comes after is held against it."""
        with durable.transaction(self._connection, self.path, point="archive.finish"):
            text = orjson.dumps(summary).decode()
            self._connection.execute("INSERT INTO finishes VALUES (?, ?)", (run.run, text))


def _digest(raw: bytes | None) -> str | None:
    return None if raw is None else hashlib.sha256(raw).hexdigest()


def _attempt_row(run: Run, number: int, attempt: Attempt) -> dict[str, Any]:
    return {
        "attempt": number,
        "run": run.run,
        **attempt.job._asdict(),
        "outcome": attempt.outcome,
        "digest": _digest(attempt.raw),
        "raw": attempt.raw,
        "detail": attempt.detail,
        "day": run.day,
    }


def _listing_row(run: Run, entry: Entry, vanished: bool) -> tuple[Any, ...]:  # noqa: FBT001
    facts = entry.facts
    return (
        run.selection,
        entry.repo_id,
        run.run,
        vanished,
        entry.revision,
        facts.get("model_type_hint"),
        facts.get("downloads"),
        entry.access,
        entry.verdict,
        entry.detail,
        orjson.dumps(facts),
    )
