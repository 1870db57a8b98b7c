"""`atlas fit`: what fits on which GPUs, and what an engine will say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.options import MODEL, Endpoint, Home, Json, Offline, Snapshot


def run(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL...]", help=f"{MODEL} Without one, every model of the snapshot."),
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="h100, a100, l4, mi300x, ...: one of a small table.")] = None,
    memory: Annotated[str | None, typer.Option("--memory", help="Memory of any other GPU: 24GiB, 80GB.")] = None,
    gpus: Annotated[int | None, typer.Option("--gpus", min=1, help="GPUs of one copy: TP x PP.")] = None,
    tp: Annotated[
        int | None, typer.Option("--tp", min=1, help="Ranks that share a layer.", show_default="gpus / pp")
    ] = None,
    pp: Annotated[int, typer.Option("--pp", min=1, help="Stages that share the layers.")] = 1,
    ep: Annotated[int, typer.Option("--ep", min=1, help="Ranks that share the experts, whole ones each.")] = 1,
    dp_attention: Annotated[
        int, typer.Option("--dp-attention", min=1, help="Groups of ranks with attention and sequences of their own.")
    ] = 1,
    at: Annotated[
        str | None, typer.Option("--at", help="Tokens of a sequence: 8192, 128k.", show_default="the config's context")
    ] = None,
    sequences: Annotated[int | None, typer.Option("--sequences", min=1, help="Sequences at once.")] = None,
    dtype: Annotated[str, typer.Option("--dtype", help="Type of the cache: bf16, fp8, int8, q8_0, ...")] = "bf16",
    weights: Annotated[
        str,
        typer.Option(
            "--weights", help="stored, or a form to suppose: bf16, fp8, w4a16-g128, nvfp4, mxfp4, nf4, q4_k_m, ..."
        ),
    ] = "stored",
    reserve: Annotated[str, typer.Option("--reserve", help="Memory of a GPU kept for all else: 4GiB.")] = "0GiB",
    under: Annotated[str | None, typer.Option("--under", help="Only models below so many parameters: 40B.")] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Without models: lines to show.")] = 20,
    engine: Annotated[
        str | None, typer.Option("--engine", help="vllm, llama.cpp, sglang or tensorrt-llm: what it will say.")
    ] = None,
    engine_version: Annotated[
        str | None, typer.Option("--engine-version", help="Its version.", show_default="the newest read")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="What the engine needs to know; repeatable."),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="With --engine: its rules with sources and proof.")] = False,
    predict: Annotated[
        Path | None, typer.Option("--predict", help="A file of lines (id, engine, version, geometry, inputs).")
    ] = None,
    explain_log: Annotated[
        Path | None, typer.Option("--explain-log", help="A start-up log to read and confirm.")
    ] = None,
    json: Json = False,
    check: Annotated[bool, typer.Option("--check", help="Exit 9 where it does not fit or is not known.")] = False,
    offline: Offline = False,
    endpoint: Endpoint = None,
    snapshot: Snapshot = None,
    home: Home = Path(),
) -> None:
    """Say whether a model fits on GPUs, with how many sequences and how much context, and what binds.

    Weights and cache are those of the fullest GPU, in logical bytes; an engine's pages, windows and states come with
    --engine. Without a model, every model of the snapshot that fits, most parameters first. With --predict, one JSON
    line per line of the file.
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
