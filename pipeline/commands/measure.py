"""`atlas measure`: the experiments that run here, and the benchmarks of engines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._options import Endpoint, Home, Json, Offline, Snapshot


def run(
    benchmark: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE", help="JSON of 'vllm bench serve' or 'llama-bench' to take in."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="--import: of which model.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="--import: the GPU, for the bound.")] = None,
    bandwidth: Annotated[
        str | None, typer.Option("--bandwidth", help="--import: 80GB (a second), without --gpu.")
    ] = None,
    hardware: Annotated[
        str | None, typer.Option("--hardware", help="--import: on what it ran, if the file is silent.")
    ] = None,
    engine_version: Annotated[
        str | None, typer.Option("--engine-version", help="--import: if the file is silent.")
    ] = None,
    tp: Annotated[int | None, typer.Option("--tp", min=1, help="--import: ranks that share each matrix.")] = None,
    threads: Annotated[
        int,
        typer.Option("--threads", min=1, help="Of the experiment on shapes."),
    ] = 1,
    json: Json = False,
    offline: Offline = False,
    endpoint: Endpoint = None,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Measure shapes and vocabularies on this CPU, or import a benchmark.

    Shapes of one budget (prefill, cached decode) and characters per token, in under five minutes; needs the extra: pip
    install 'llm-architecture-atlas[measure]', with the CPU build of torch. With --import an engine's benchmark beside
    the bound that the model's structure gives. The next refresh has both in the table measurements.
    """
    from pipeline.measure import importing, running
    from pipeline.sheets.screen import write

    if benchmark is None:
        _only_imports(model, gpu, bandwidth, hardware, engine_version, tp)
        runs = running.run(threads)
        running.keep(home, runs)
        made = running.lines(runs)
    else:
        asked = importing.Asked(
            model=model, gpu=gpu, bandwidth=bandwidth, hardware=hardware, version=engine_version, tp=tp, home=home,
            snapshot=snapshot, endpoint=endpoint, offline=offline,
        )  # fmt: skip
        found = importing.imported(benchmark, asked)
        runs, made = [one.run for one in found], importing.lines(found)
    if json:
        from pipeline.sheets.inspect import encoded

        typer.echo(encoded([row for r in runs for row in r.rows()]))
    else:
        write(made)
    typer.echo("kept under measurements/; the next refresh has it in the table measurements", err=True)


def _only_imports(*given: object) -> None:
    from pipeline.errors import Usage

    if any(g is not None for g in given):
        raise Usage("--model, --gpu, --bandwidth, --hardware, --engine-version and --tp belong to --import FILE")
