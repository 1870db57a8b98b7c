"""What the crawls brought home, kept for good: every distinct config byte for byte, and which repository had it when.

One SQLite file, `archive/hub.sqlite`, written by one process at a time, each batch in a transaction, so that a crash
loses at most the batch in hand. Configs and attempts are only ever added, and every row carries its digest. Texts are
addressed by their sha256 and repositories by a column: no path is made from either.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import ExitStack
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Self

import orjson

from pipeline import durable
from pipeline.errors import AtlasError, Corrupt
from pipeline.hub import sealed
from pipeline.hub.attempts import Attempt, Job, Judged, Run
from pipeline.hub.sealed import FORMAT
from schemas.vocabulary import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pipeline.hub.entry import Entry

# What each listed repository came to. An attempt counts if it was made at the listed commit. One that gave no config is
# evidence that ends: it is due again on its day, when what the listing says of access changes, and when the clock that
# dated it was ahead. A config is asked for again at its commit only where the repository has become gated since.
JUDGED = """
SELECT l.repo_id, l.revision, l.facts, l.vanished, l.model_type, l.downloads, l.access, g.digest AS good_digest,
    g.attempt AS good_attempt, json_extract(cast(l.facts AS TEXT), '$.settings_files') AS settings_files,
    g.revision AS good_revision, g.day AS good_day,
    coalesce(l.detail, CASE WHEN a.revision = l.revision THEN a.detail END) AS detail,
    CASE WHEN l.verdict IS NOT NULL THEN l.verdict
        WHEN a.revision IS NOT l.revision THEN 'deferred'
        WHEN a.outcome <> 'ok' AND (a.access <> l.access OR coalesce(s.due, '') <= :day OR a.day > :day)
            THEN 'deferred'
        WHEN a.outcome = 'ok' AND json_extract(l.access, '$[0]') <> 0
            AND json_extract(l.access, '$[0]') IS NOT json_extract(a.access, '$[0]') THEN 'deferred'
        WHEN a.outcome = 'ok' AND json_array_length(cast(l.facts AS TEXT), '$.settings_files') > 0
            AND a.attempt NOT IN (SELECT attempt FROM beside) THEN 'deferred'
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
            self._connection = self._connect(undo)
            self._open = undo.pop_all()

    def _connect(self, undo: ExitStack) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            undo.callback(connection.close)
            connection.execute("PRAGMA synchronous = FULL")
            sealed.teach(connection)
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.OperationalError as error:
            raise AtlasError(f"cannot open {self.path}: {error}") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a damaged name in its own message
            raise self.damaged(error) from error
        if version == 0:
            self._run(connection, sealed.creation(), point="archive.create")
        elif version in sealed.OLD_FORMATS:
            self._run(connection, sealed.upgrade(version), point="archive.upgrade")
        elif version != FORMAT:
            raise Corrupt(f"{self.path} is of format {version}, this version reads {FORMAT}; update, or move it away")
        return connection

    def damaged(self, error: sqlite3.DatabaseError | UnicodeDecodeError) -> Corrupt:
        """What to say when SQLite cannot make sense of the file."""
        return Corrupt(f"{self.path} is damaged ({error}); move it away to crawl anew")

    def _run(self, connection: sqlite3.Connection, statements: list[str], *, point: str) -> None:
        with durable.transaction(connection, self.path, point=point):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {FORMAT}")

    def verify(self) -> int:
        """Prove every page, row and config; return how many configs there are. Raises `Corrupt`."""
        self._require_whole(every=True)
        wrong = sealed.wrong_blob(self._connection)
        if wrong is not None:
            raise Corrupt(f"{self.path}: a stored config does not match its digest {wrong}; move the file away")
        return self._one("SELECT count(*) FROM blobs")

    def _require_whole(self, *, every: bool = False) -> None:
        try:
            wrong = sealed.damage(self._connection, every=every)
        except sqlite3.DatabaseError as error:
            raise self.damaged(error) from error
        if wrong is not None:
            raise Corrupt(f"{self.path} is damaged ({wrong}); move it away to crawl anew")

    def close(self) -> None:
        """Let the next writer in."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, selection: str, *, day: str) -> Run:
        """Start a run on `day`; outcomes other than a config count until they are due again. Raises `Corrupt`."""
        self._require_whole()
        with durable.transaction(self._connection, self.path, point="archive.begin"):
            run = self._one("INSERT INTO runs (selection, day) VALUES (?, ?) RETURNING run", selection, day)
            sealed.reseal(self._connection, "runs", "run = ?", run)
        finished = self._one("SELECT coalesce(max(run), 0) FROM finishes")
        before = self._one("SELECT max(run) FROM finishes JOIN runs USING (run) WHERE selection = ?", selection)
        return Run(run, selection, day, finished, before)

    def _one(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement, values).fetchone()[0]

    def list_page(self, run: Run, page: Iterable[Entry], *, vanished: Mapping[str, int] | None = None) -> None:
        """Take in a page of the listing. `vanished` says of those not listed how often that was so in a row."""
        rows = [_listing_row(run, entry, (vanished or {}).get(entry.repo_id, 0)) for entry in page]
        types = [(row[5], run.run) for row in rows if row[5] is not None]
        with durable.transaction(self._connection, self.path, point="archive.listing"):
            sealed.put(self._connection, "listing", rows)
            sealed.put(self._connection, "model_types", types, "IGNORE")

    def listed(self, run: Run) -> int:
        """How many repositories this run's listing has."""
        return self._one(
            "SELECT count(*) FROM listing WHERE selection = ? AND run = ? AND NOT vanished", run.selection, run.run
        )

    def absent(self, run: Run) -> list[tuple[str, int, dict[str, Any]]]:
        """(repo_id, how often found missing before, facts) of those an earlier run listed and this one does not."""
        found = self._connection.execute(
            """SELECT repo_id, vanished, facts FROM listing
            WHERE selection = ? AND run < ? AND run >= ? ORDER BY repo_id""",
            (run.selection, run.run, run.before if run.before is not None else run.run),
        )
        return [(repo_id, vanished, orjson.loads(facts)) for repo_id, vanished, facts in found]

    def jobs(self, run: Run) -> list[Job]:
        """What is to fetch: one of each new model_type first, then the most downloaded."""
        ordered = self._connection.execute(
            f"""WITH due AS (SELECT * FROM ({JUDGED}) WHERE outcome = 'deferred'), ranked AS (
                SELECT *, row_number() OVER (PARTITION BY model_type ORDER BY downloads DESC, repo_id) AS place
                FROM due)
            SELECT repo_id, revision, access, coalesce(settings_files, '[]')
            FROM ranked LEFT JOIN model_types t USING (model_type)
            ORDER BY NOT (place = 1 AND coalesce(t.run, 0) > :finished), downloads DESC, repo_id""",
            run.named(),
        )
        return [Job(*row) for row in ordered]

    def record(self, run: Run, attempts: Iterable[Attempt]) -> None:
        """Keep what a batch of fetches brought."""
        first = self._one("SELECT coalesce(max(attempt), 0) + 1 FROM attempts")
        rows = [_attempt_row(run, number, attempt) for number, attempt in enumerate(attempts, first)]
        beside = [(row["attempt"], name, raw) for row in rows for name, raw in row["beside"]]
        blobs = [(row["digest"], row["raw"]) for row in rows if row["digest"] is not None]
        blobs += [(_digest(raw), raw) for _, _, raw in beside]
        with durable.transaction(self._connection, self.path, point="archive.batch"):
            self._connection.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs)
            states = [self._state(row) for row in rows]
            sealed.put(self._connection, "attempts", ([row[c] for c in _ATTEMPT] for row in rows))
            sealed.put(self._connection, "beside", [(number, name, _digest(raw)) for number, name, raw in beside])
            sealed.put(self._connection, "state", states)

    def _state(self, row: dict[str, Any]) -> tuple[Any, ...]:
        """What a repository stands at after an attempt; one that gave no config is due again, each time later."""
        old = self._connection.execute(
            "SELECT good, tries, revision, access, outcome FROM state LEFT JOIN attempts ON attempt = last"
            " WHERE state.repo_id = ?",
            (row["repo_id"],),
        ).fetchone()
        good, tries, *before = old or (None, 0)
        if row["digest"] is not None:
            return row["repo_id"], row["attempt"], row["attempt"], 0, None
        tries = tries + 1 if before[:2] == [row["revision"], row["access"]] else 1
        return row["repo_id"], row["attempt"], good, tries, again(row["day"], tries)

    def refuse(self, run: Run) -> None:
        """Let a run that was not believed, and those it went on from, count for nothing: what they tried is due."""
        runs = "SELECT run FROM runs WHERE selection = ? AND run > ? AND run NOT IN (SELECT run FROM finishes)"
        found = self._connection.execute(runs, (run.selection, run.before or 0)).fetchall()
        with durable.transaction(self._connection, self.path, point="archive.refuse"):
            sealed.put(self._connection, "refused", found)
            touched = self._connection.execute(
                "SELECT DISTINCT repo_id FROM attempts WHERE run > ? AND run IN (SELECT run FROM refused)",
                (run.before or 0,),
            ).fetchall()
            self._connection.executemany("DELETE FROM state WHERE repo_id = ?", touched)
            sealed.put(self._connection, "state", [row for (name,) in touched for row in self._rewound(name)])

    def _rewound(self, repo_id: str) -> list[tuple[Any, ...]]:
        """What a repository stood at without the refused runs; nothing where there was nothing."""
        last, good = self._connection.execute(
            "SELECT max(attempt), max(attempt) FILTER (WHERE digest IS NOT NULL) FROM attempts"
            " WHERE repo_id = ? AND run NOT IN (SELECT run FROM refused)",
            (repo_id,),
        ).fetchone()
        return [] if last is None else [(repo_id, last, good, 0, None)]

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
            f"""SELECT repo_id, outcome, revision, facts, detail, good_digest, raw, good_revision, good_day,
            good_attempt FROM ({JUDGED}) LEFT JOIN blobs ON digest = good_digest ORDER BY repo_id""",
            run.named(),
        )
        with_settings = {n for (n,) in self._connection.execute("SELECT DISTINCT attempt FROM beside")}
        for repo_id, outcome, revision, facts, detail, digest, raw, good_revision, good_day, good in rows:
            if digest is not None and (raw is None or _digest(raw) != digest):
                raise Corrupt(f"{self.path}: a stored config does not match its digest {digest}; move the file away")
            beside = self._beside(good) if good in with_settings else ()
            known = (repo_id, Outcome(outcome), revision, orjson.loads(facts), detail)
            yield Judged(*known, raw, good_revision, good_day, beside)

    def _beside(self, attempt: int) -> tuple[tuple[str, bytes], ...]:
        """The settings files that came with a config, those aside that could not be had."""
        rows = self._connection.execute(
            "SELECT name, digest, raw FROM beside LEFT JOIN blobs USING (digest) WHERE attempt = ? ORDER BY name",
            (attempt,),
        ).fetchall()
        if any(raw is None or _digest(raw) != digest for _, digest, raw in rows):
            raise Corrupt(f"{self.path}: a stored settings file does not match its digest; move the file away")
        return tuple((name, raw) for name, _, raw in rows if raw)

    def content(self, run: Run) -> str:
        """A digest over every row that `judged` would give; what is unchanged counts as ok."""
        digest = hashlib.sha256()
        rows = self._connection.execute(
            f"""SELECT repo_id, replace(outcome, 'unchanged', 'ok'), revision, facts, detail, good_digest,
            good_revision, good_day, (SELECT group_concat(name || ' ' || digest) FROM
            (SELECT name, digest FROM beside WHERE attempt = good_attempt ORDER BY name))
            FROM ({JUDGED}) ORDER BY repo_id""",
            run.named(),
        )
        for row in rows:
            digest.update(sealed.seal(*row).encode())
        return digest.hexdigest()

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
            sealed.put(self._connection, "finishes", [(run.run, text)])


def again(day: str, tries: int) -> str:
    """The day on which to ask again after so many tries without a config: 1, 2, 4, ... days later, at most 32."""
    try:
        return (date.fromisoformat(day) + timedelta(days=2 ** min(tries - 1, 5))).isoformat()
    except OverflowError:  # the calendar ends
        return day


_ATTEMPT = sealed.names("attempts")


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
        "beside": attempt.beside,
        "detail": attempt.detail,
        "day": run.day,
    }


def _listing_row(run: Run, entry: Entry, vanished: int) -> tuple[Any, ...]:
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
