"""`atlas sql`: one query on a snapshot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from pipeline.options import Home, Json, Snapshot


def run(
    query: Annotated[str | None, typer.Argument(help="One SELECT or EXPLAIN; - reads it from stdin.")] = None,
    form: Annotated[
        Literal["table", "json", "csv", "md"], typer.Option("--format", help="How rows are printed.")
    ] = "table",
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, max=86_400, help="Seconds a query may take.")] = 30.0,
    every: Annotated[
        bool, typer.Option("--all", help="Every snapshot at once: view history has their fingerprints by snapshot.")
    ] = False,
    examples: Annotated[bool, typer.Option("--examples", help="Show queries to start from.")] = False,
    json: Json = False,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Ask a snapshot one question in SQL, read-only.

    Tables: models, configs, designs, layers, parameters, states, refusals, features, reported, checks, disagreements,
    measurements, runs, snapshot. Views: fingerprints, evidence, layers_expanded, unread_keys, lineage, kept; with --all
    also history. Macro: kv_bytes(model, context, bytes_per_element).
    """
    if examples:
        _show_examples()
        return
    if query is None:
        raise typer.BadParameter(
            'a query is wanted, such as "SELECT repo_id, params_total FROM fingerprints"; --examples shows more'
        )
    from pipeline.ask import query as engine
    from pipeline.store import shelf

    _, path = shelf.locate(home, snapshot)
    text = sys.stdin.read() if query == "-" else query
    history = [(entry.id, found) for entry, found in shelf.all_of(home, last=snapshot)] if every else []
    note = engine.run(path, text, _to_stdout, form="json" if json else form, timeout=timeout, history=history)
    if sys.stderr.isatty() and not json and form == "table":
        typer.echo(note, err=True)


def _to_stdout(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _show_examples() -> None:
    from pipeline.ask.examples import EXAMPLES

    for title, text in EXAMPLES.items():
        typer.echo(f"-- {title}{text};\n")
