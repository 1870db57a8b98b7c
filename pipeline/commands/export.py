"""Write a snapshot as Parquet, or as a dataset folder for the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands._options import Endpoint, Home, Json, Snapshot

if TYPE_CHECKING:
    from pipeline.export.parquet import Exported

To = Annotated[Path | None, typer.Option("--to", metavar="DIR", show_default="exports/ under the home")]


def parquet(*, to: To = None, json: Json = False, snapshot: Snapshot = None, home: Home = Path()) -> None:
    """Write one Parquet file per table, and one of the view fingerprints."""
    from pipeline.export import parquet as export

    _print(export.parquet(home, snapshot, to), json)


def hf(
    *,
    upload: Annotated[
        str | None,
        typer.Option("--upload", metavar="OWNER/NAME", help="Commit it to this dataset (made private if new)."),
    ] = None,
    to: To = None,
    json: Json = False,
    snapshot: Snapshot = None,
    endpoint: Endpoint = None,
    home: Home = Path(),
) -> None:
    """Write a dataset folder for the Hub: Parquet, a card, the data dictionary. Nothing leaves without --upload.

    The token for --upload comes from HF_TOKEN or the huggingface_hub login.
    """
    from pipeline.export import parquet as export
    from pipeline.hub import login

    made = export.dataset(home, snapshot, to)
    address = None
    if upload is not None:
        from pipeline.export.upload import upload as put

        address = put(made.folder, upload, f"Snapshot {made.entry.id}", endpoint, login.token(), made.entry.id)
    _print(made, json, address)


def _print(made: Exported, as_json: bool, address: str | None = None) -> None:
    if as_json:
        from pipeline.sheets.inspect import encoded

        told = {"snapshot": made.entry.id, "folder": str(made.folder), "rows": made.rows, "commit": address}
        typer.echo(encoded(told))
        return
    for name, rows in made.rows.items():
        typer.echo(f"{rows:>12,}  {name}")
    typer.echo(f"snapshot {made.entry.id}: {len(made.rows)} tables in {made.folder}", err=True)
    if address is not None:
        typer.echo(f"committed: {address}", err=True)


actions = (parquet, hf)
