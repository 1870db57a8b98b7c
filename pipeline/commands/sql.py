"""`atlas sql`: one query on a snapshot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from pipeline.commands._options import Home, Json, Snapshot
from pipeline.text import terminal


def run(
    query: Annotated[
        str | None, typer.Argument(help="One SELECT, EXPLAIN, DESCRIBE TABLE or SHOW TABLES; - is stdin.")
    ] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Read the query from a file.")] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=FILE", help="A .csv, .tsv or .parquet file as a table; repeatable."),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="The value of $NAME in the query; repeatable."),
    ] = None,
    form: Annotated[Literal["table", "json", "csv", "md"], typer.Option("--format")] = "table",
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, max=86_400, metavar="SECONDS")] = 30.0,
    every: Annotated[bool, typer.Option("--all", help="Every snapshot, in the view history.")] = False,
    examples: Annotated[bool, typer.Option("--examples", help="Show queries to start from.")] = False,
    json: Json = False,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Ask a snapshot one question in SQL, read-only.

    Tables: models, configs, designs, layers, parameters, states, stored, constants, refusals, features, reported,
    checks, disagreements, measurements, runs, sightings, snapshot. Views: fingerprints, evidence, layers_expanded,
    unread_keys, lineage, kept; with --all also history. Macro: kv_bytes(model, context, bytes_per_element).

    DuckDB itself opens a snapshot's file too.
    """
    if examples:
        _show_examples()
        return
    if query is not None and file is not None:
        raise typer.BadParameter("a query and -f FILE are two queries: give one")
    if query is None and file is None:
        raise typer.BadParameter(
            'a query is wanted, such as "SELECT repo_id, params_total FROM fingerprints"; --examples shows more'
        )
    from pipeline.ask import handed
    from pipeline.ask import query as engine
    from pipeline.store import shelf, trusted

    given = engine.Given(handed.parameters(values), handed.named(tables))
    _, path = shelf.locate(home, snapshot, of_any_major=True)
    text = _text(query, file)
    history = [(entry.id, found) for entry, found in trusted.all_of(home, last=snapshot)] if every else []
    form = "json" if json else form
    note = "0 rows"
    try:
        note = engine.run(path, text, _to_stdout, form=form, timeout=timeout, history=history, given=given)
    finally:  # also where the query was refused: a macro refuses a model that is not there
        for said in handed.misnamed(path, text, given.parameters) if note == "0 rows" else ():
            typer.echo(f"atlas: {terminal(said)}", err=True)
    if sys.stderr.isatty() and not json and form == "table":
        typer.echo(note, err=True)


def _text(query: str | None, file: Path | None) -> str:
    """The query: as given, from stdin, or from a file."""
    if file is None:
        return sys.stdin.read() if query == "-" else str(query)
    from pipeline.errors import NotFound

    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{file} cannot be read as text: {error}") from error


def _to_stdout(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _show_examples() -> None:
    from pipeline.ask.examples import EXAMPLES

    for title, text in EXAMPLES.items():
        typer.echo(f"-- {title}{text};\n")
