"""List snapshots, prove them, derive them again, take one back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.commands._options import Home, Json


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
    snapshot: Annotated[str | None, typer.Argument(help="Its date; all where none is named.")] = None,
    *,
    archive: Annotated[bool, typer.Option("--archive", help="The archive of the crawls instead.")] = False,
    home: Home = Path(),
) -> None:
    """Prove snapshots: every byte and every row as published, the chain unbroken; exit code 6 where one is not."""
    if archive:
        _verify_archive(home)
        return
    from pipeline.store import snapshot as shelf_of

    for entry in shelf_of.verify(home, snapshot):
        typer.echo(f"{entry.id}  whole  {entry.models:,} models, {entry.bytes:,} bytes, manifest {entry.manifest[:16]}")


def _verify_archive(home: Path) -> None:
    from pipeline.errors import NotFound
    from pipeline.hub.archive import Archive

    if not (home / "archive" / "hub.sqlite").is_file():
        raise NotFound(f"{home / 'archive'} holds no archive: 'atlas refresh --source hub' makes one")
    with Archive(home) as held:
        typer.echo(f"archive  whole  {held.verify():,} configs, {held.path.stat().st_size:,} bytes")


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
    why: Annotated[str, typer.Option("--why", help="For whoever asks for this snapshot later.")],
    home: Home = Path(),
) -> None:
    """Take a snapshot back: it is never `latest` again. Its file stays until `prune`."""
    from pipeline.store import shelf

    index = shelf.retract(home, snapshot, why)
    typer.echo(f"snapshot {snapshot} is retracted; latest is {index.latest or 'none: run atlas refresh'}", err=True)
    pages = home / "reports" / "guide"
    if any(f"snapshot {snapshot}" in p.read_text("utf-8", errors="replace").lower() for p in pages.glob("*.md")):
        typer.echo(f"{pages} was built from it and stands as it is: 'atlas guide build' builds it anew", err=True)


def prune(
    *,
    daily: Annotated[
        int, typer.Option("--keep-daily", min=0, metavar="N", help="Keep the last snapshot of the last N days.")
    ] = 0,
    weekly: Annotated[int, typer.Option("--keep-weekly", min=0, metavar="N", help="Of N weeks, Monday to Sunday.")] = 0,
    monthly: Annotated[str, typer.Option("--keep-monthly", metavar="N", help="Of N months, or all.")] = "0",
    apply: Annotated[bool, typer.Option("--apply", help="Delete; without it nothing goes.")] = False,
    home: Home = Path(),
) -> None:
    """Delete the files of retracted snapshots; with --keep-... also those that this policy does not keep.

    A policy only says what would go and how much that frees; --apply does it. The latest always stays, every file that
    stays is complete by itself, and the index keeps the digests of what went.
    """
    from pipeline.errors import Usage
    from pipeline.store import prune as pruning

    if monthly != "all" and not monthly.isdecimal():
        raise Usage(f"--keep-monthly {monthly}: give a number of months, or all")
    keep = pruning.Keep(daily, weekly, pruning.ALL if monthly == "all" else int(monthly))
    if any(keep):
        _thin(home, keep, apply=apply)
        return
    gone = pruning.prune(home)
    for path in gone:
        typer.echo(path)
    typer.echo(f"{len(gone)} files of retracted snapshots deleted", err=True)


def _thin(home: Path, keep: Any, *, apply: bool) -> None:
    from pipeline.store import prune as pruning
    from pipeline.store import shelf

    made = pruning.thin(home, keep) if apply else pruning.plan(shelf.read(shelf.folder(home)), keep)
    for entry in made.gone:
        typer.echo(f"{entry.id}  {entry.bytes:,} bytes")
    state = "deleted" if apply else "would go; nothing was deleted, --apply does it"
    kept = f"{len(made.kept)} snapshots stay, {sum(e.bytes for e in made.kept):,} bytes"
    typer.echo(f"{len(made.gone)} snapshots, {made.freed:,} bytes {state}; {kept}", err=True)


actions = [ls, verify, rederive, retract, prune]
