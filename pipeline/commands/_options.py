"""The options that several commands share; they come after the command's name, as `home: Home = Path()`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._completion import cache_types, stored_forms

Home = Annotated[
    Path,
    typer.Option(
        "--home",
        envvar="ATLAS_HOME",
        show_envvar=False,
        show_default=False,
        metavar="DIR",
        help="Of snapshots and guide: ATLAS_HOME, or here.",
    ),
]
"""Default of a command: `Path()`, the current directory."""

Endpoint = Annotated[
    str | None, typer.Option("--endpoint", envvar="HF_ENDPOINT", hidden=True, help="Another Hub than huggingface.co.")
]

Snapshot = Annotated[str | None, typer.Option("--snapshot", metavar="DATE", show_default="latest")]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Offline = Annotated[bool, typer.Option("--offline", help="Never ask the Hub.")]
MODEL = "Any name: a loose one, OWNER/NAME[@REVISION], a Hub address, a config, a folder, a .gguf, - (stdin)."

Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A what-if; repeatable, dots reach into objects."),
]
At = Annotated[str | None, typer.Option("--at", metavar="TOKENS", help="Cache at 8192, 128k (k is 1,024), ...")]
Dtype = Annotated[
    str, typer.Option("--dtype", metavar="TYPE", help="Of the cache: bf16, fp8, int4, ...", autocompletion=cache_types)
]

Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="FORM",
        autocompletion=stored_forms,
        help="Suppose it stored as bf16, fp8, w4a16-g128, nvfp4, mxfp4, mlx4, nf4, q4_k_m, q8_0.",
    ),
]

Task = Annotated[str, typer.Option("--task", help="Hub: repositories of this task.")]
Top = Annotated[int | None, typer.Option("--top", metavar="N", min=1, help="Hub: only the N most downloaded.")]
Author = Annotated[str | None, typer.Option("--author", help="Hub: only this author's.")]
"""What a crawl lists: shared by the commands that refresh now and on a schedule."""
