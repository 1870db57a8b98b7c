"""List the snapshots under the home, prove them, derive them again, take one back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.options import Home, Json


def ls(*, json: Json = False, home: Home = Path()) -> None:
    """List the snapshots, oldest first, with what is in them."""
    from pipeline.store import shelf

    index = shelf.read(shelf.folder(home))
    rows = [_row(entry, index) for entry in index.snapshots]
    if not rows and not json:
        typer.echo(
            "no snapshot here yet: run 'atlas refresh --source catalogue', or name the place with --home", err=True
        )
        return
    _print(rows, json)


def _row(entry: object, index: object) -> dict[str, object]:
    from pipeline.store.shelf import Entry, Index

    assert isinstance(entry, Entry) and isinstance(index, Index)  # noqa: S101, PT018 - msgspec is imported only here
    state = "retracted" if entry.id in index.retracted else "latest" if entry.id == index.latest else ""
    return {
        "id": entry.id,
        "state": state,
        "source": entry.source,
        "models": entry.models,
        "configs": entry.configs,
        "designs": entry.designs,
        "bytes": entry.bytes,
        "schema": entry.schema_version,
        "code": entry.code_version,
        "why_retracted": index.retracted.get(entry.id),
    }


def _print(rows: list[dict[str, object]], as_json: bool) -> None:
    from pipeline.ask.formats import FORMATS

    kinds = {"models": "BIGINT", "configs": "BIGINT", "designs": "BIGINT", "bytes": "BIGINT"}
    shown = [name for name in (rows[0] if rows else ()) if as_json or any(row[name] is not None for row in rows)]
    columns = [(name, kinds.get(name, "VARCHAR")) for name in shown]
    chunks = [[tuple(row[name] for name in shown) for row in rows]] if rows else []
    FORMATS["json" if as_json else "table"](columns, chunks, lambda text: typer.echo(text, nl=False))


def verify(
    snapshot: Annotated[
        str | None, typer.Argument(help="The snapshot's date; all of them where none is named.")
    ] = None,
    *,
    home: Home = Path(),
) -> None:
    """Prove snapshots: every byte and every row as published, the chain unbroken; exit code 6 where one is not."""
    from pipeline.store import snapshot as shelf_of

    for entry in shelf_of.verify(home, snapshot):
        typer.echo(f"{entry.id}  whole  {entry.models:,} models, {entry.bytes:,} bytes, manifest {entry.manifest[:16]}")


Date = Annotated[str, typer.Argument(metavar="D", help="The snapshot's date.")]


def rederive(snapshot: Date, *, json: Json = False, home: Home = Path()) -> None:
    """Derive a snapshot's own raw configs again with today's rules, offline, and show what differs; write nothing."""
    from pipeline.hub.records import Progress
    from pipeline.refresh import rederive as again
    from pipeline.sheets import changes
    from pipeline.sheets.progress import watching
    from pipeline.store import shelf

    done, total = 0, shelf.read(shelf.folder(home)).entry(snapshot).configs
    with watching(quiet=json) as watch:

        def tick() -> None:
            nonlocal done
            done += 1
            watch(Progress("derive", done, total, 0, 0.0))

        found = again.rederive(home, snapshot, tick)
    if json:
        import msgspec

        from pipeline.sheets.inspect import encoded

        typer.echo(encoded(msgspec.to_builtins(found)))
        return
    for line in changes.rederived(found):
        typer.echo(line)


def retract(
    snapshot: Date,
    *,
    why: Annotated[str, typer.Option("--why", help="The reason, for whoever asks for this snapshot later.")],
    home: Home = Path(),
) -> None:
    """Take a snapshot back: it is never `latest` again. Its file stays until `prune`."""
    from pipeline.store import shelf

    index = shelf.retract(home, snapshot, why)
    typer.echo(f"snapshot {snapshot} is retracted; latest is {index.latest or 'none: run atlas refresh'}", err=True)


def prune(*, home: Home = Path()) -> None:
    """Delete the files of retracted snapshots; the index keeps their dates and reasons."""
    from pipeline.store import shelf

    gone = shelf.prune(home)
    for path in gone:
        typer.echo(path)
    typer.echo(f"{len(gone)} files of retracted snapshots deleted", err=True)


actions = [ls, verify, rederive, retract, prune]
