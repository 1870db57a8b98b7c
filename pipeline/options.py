"""The options that several commands share; they come after the command's name, as `home: Home = Path()`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Home = Annotated[Path, typer.Option("--home", envvar="ATLAS_HOME", help="The folder everything is written under.")]
"""Default of a command: `Path()`, the current directory."""

Endpoint = Annotated[
    str | None, typer.Option("--endpoint", envvar="HF_ENDPOINT", help="The Hub to ask, if not huggingface.co.")
]

Snapshot = Annotated[
    str | None, typer.Option("--snapshot", help="The snapshot to read, by its date.", show_default="latest")
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

Offline = Annotated[
    bool, typer.Option("--offline", help="Never ask the Hub; huggingface_hub's cache on disk still answers.")
]
MODEL = "A name here (loosely too), OWNER/NAME[@REVISION] or its Hub address, a config, a folder, a .gguf or - (stdin)."

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A what-if beside the original; repeatable, dots reach into objects."
    ),
]
At = Annotated[str | None, typer.Option("--at", help="Cache at so many tokens: 8192, 128k, 1m (k is 1,024).")]
Dtype = Annotated[str, typer.Option("--dtype", help="What a cache element is stored in: bf16, fp8, int4, ...")]

Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="FORM",
        help="Weigh it stored otherwise, hypothetically: bf16, fp8, w4a16-g128, nvfp4, mxfp4, mlx4, nf4, q4_k_m, q8_0.",
    ),
]

Task = Annotated[str, typer.Option("--task", help="Hub: the task whose repositories are listed.")]
Top = Annotated[int | None, typer.Option("--top", min=1, help="Hub: only the N most downloaded.")]
Author = Annotated[str | None, typer.Option("--author", help="Hub: only this author's.")]
"""What a crawl lists: shared by the commands that refresh now and on a schedule."""
