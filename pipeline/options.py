"""The options that several commands share; they come after the command's name, as `home: Home = Path()`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Home = Annotated[
    Path,
    typer.Option(
        "--home",
        envvar="ATLAS_HOME",
        show_envvar=False,
        show_default=False,
        help="Folder of snapshots and guide: ATLAS_HOME, or here.",
    ),
]
"""Default of a command: `Path()`, the current directory."""

Endpoint = Annotated[
    str | None, typer.Option("--endpoint", envvar="HF_ENDPOINT", hidden=True, help="Another Hub than huggingface.co.")
]

Snapshot = Annotated[str | None, typer.Option("--snapshot", help="A snapshot's date.", show_default="latest")]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Offline = Annotated[bool, typer.Option("--offline", help="Ask huggingface_hub's cache on disk, never the Hub.")]
MODEL = "Any name: a loose one, OWNER/NAME[@REVISION], a Hub address, a config, a folder, a .gguf, - (stdin)."

Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A what-if; repeatable, dots reach into objects."),
]
At = Annotated[str | None, typer.Option("--at", help="Cache at so many tokens: 8192, 128k (k is 1,024).")]
Dtype = Annotated[str, typer.Option("--dtype", help="Type of the cache: bf16, fp8, int4, ...")]

Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="FORM",
        help="Suppose it stored as bf16, fp8, w4a16-g128, nvfp4, mxfp4, mlx4, nf4, q4_k_m, q8_0.",
    ),
]

Task = Annotated[str, typer.Option("--task", help="Hub: the task whose repositories are listed.")]
Top = Annotated[int | None, typer.Option("--top", metavar="N", min=1, help="Hub: only the N most downloaded.")]
Author = Annotated[str | None, typer.Option("--author", help="Hub: only this author's.")]
"""What a crawl lists: shared by the commands that refresh now and on a schedule."""
