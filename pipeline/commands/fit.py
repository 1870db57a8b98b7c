"""`atlas fit`: what fits on which GPUs, and what an engine will say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.options import MODEL, Endpoint, Home, Json, Offline, Snapshot


def run(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL...]", help=MODEL),
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="h100, a100, l4, rtx4090, mi300x, ...")] = None,
    memory: Annotated[str | None, typer.Option("--memory", help="Memory of any other GPU: 24GiB, 80GB.")] = None,
    gpus: Annotated[int | None, typer.Option("--gpus", metavar="N", min=1, help="GPUs of one copy: TP x PP.")] = None,
    tp: Annotated[
        int | None, typer.Option("--tp", metavar="N", min=1, help="Ranks that share a layer.", show_default="gpus / pp")
    ] = None,
    pp: Annotated[int, typer.Option("--pp", metavar="N", min=1, help="Stages that share the layers.")] = 1,
    ep: Annotated[
        int, typer.Option("--ep", metavar="N", min=1, help="Ranks that share the experts, whole ones each.")
    ] = 1,
    dp_attention: Annotated[
        int, typer.Option("--dp-attention", metavar="N", min=1, help="Groups of ranks with sequences of their own.")
    ] = 1,
    at: Annotated[
        str | None, typer.Option("--at", help="Tokens of a sequence: 8192, 128k.", show_default="the config's context")
    ] = None,
    sequences: Annotated[int | None, typer.Option("--sequences", metavar="N", min=1, help="Sequences at once.")] = None,
    dtype: Annotated[str, typer.Option("--dtype", help="Type of the cache: bf16, fp8, int8, q8_0, ...")] = "bf16",
    weights: Annotated[
        str,
        typer.Option("--weights", help="stored, or one to suppose: bf16, fp8, nvfp4, ..."),
    ] = "stored",
    reserve: Annotated[str, typer.Option("--reserve", help="Memory of a GPU for all else: 4GiB.")] = "0GiB",
    under: Annotated[str | None, typer.Option("--under", help="Only models of fewer parameters: 40B.")] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Without models: lines to show.")] = 20,
    engine: Annotated[
        str | None, typer.Option("--engine", help="What vllm, llama.cpp, sglang or tensorrt-llm says.")
    ] = None,
    engine_version: Annotated[
        str | None, typer.Option("--engine-version", help="Its version.", show_default="the newest read")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="What the engine needs to know; repeatable."),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="With --engine: its inputs and rules, with sources.")] = False,
    predict: Annotated[
        Path | None, typer.Option("--predict", help="Lines of id, engine, version, geometry, inputs.")
    ] = None,
    explain_log: Annotated[
        Path | None, typer.Option("--explain-log", help="A start-up log to read and confirm.")
    ] = None,
    json: Json = False,
    check: Annotated[bool, typer.Option("--check", help="Exit 9 unless it is known to fit.")] = False,
    offline: Offline = False,
    endpoint: Endpoint = None,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Say what fits on GPUs: sequences, context, and what binds.

    Sizes are logical bytes of the fullest GPU; an engine's pages, windows and states come with --engine. Without a
    model, every model of the snapshot that fits, most parameters first. With --predict, a JSON line per line of the
    file.
    """
    from pipeline.serve import asking

    asked = asking.Asked(
        models=models or [], gpu=gpu, memory=memory, gpus=gpus, tp=tp, pp=pp, ep=ep, dp=dp_attention, at=at,
        sequences=sequences, dtype=dtype, weights=weights, reserve=reserve, under=under, top=top, engine=engine,
        version=engine_version, inputs=inputs or [], rules=rules, home=home, snapshot=snapshot, offline=offline,
        endpoint=endpoint,
    )  # fmt: skip
    if predict is not None:
        for line in asking.predictions(asked, predict):
            typer.echo(line)
        return
    answer = asking.log(asked, explain_log) if explain_log is not None else asking.answer(asked)
    if json:
        from pipeline.sheets.inspect import encoded

        typer.echo(encoded(answer.value))
    else:
        from pipeline.sheets.screen import write

        write(answer.lines)
    if check and not answer.holds:
        raise typer.Exit(9)
