"""`atlas fit`: what fits on which GPUs, and what an engine will say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands._completion import engines_named, gpus_named, kept_types, models_named, stored_or_forms
from pipeline.commands._options import MODEL, Endpoint, Home, Json, Offline, Set, Snapshot


def run(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", help=MODEL, autocompletion=models_named),
    ] = None,
    changes: Set = None,
    gpu: Annotated[
        str | None,
        typer.Option("--gpu", metavar="NAME", autocompletion=gpus_named, help="h100, a100, l4, rtx4090, mi300x, ..."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="BYTES", help="Of any other GPU: 24GiB, 80GB.")
    ] = None,
    gpus: Annotated[int | None, typer.Option("--gpus", metavar="N", min=1, help="GPUs of one copy: TP x PP.")] = None,
    tp: Annotated[
        int | None, typer.Option("--tp", metavar="N", min=1, help="Ranks that share a layer.", show_default="gpus / pp")
    ] = None,
    pp: Annotated[int, typer.Option("--pp", metavar="N", min=1, help="Stages that share the layers.")] = 1,
    ep: Annotated[
        int, typer.Option("--ep", metavar="N", min=1, help="Ranks that share the experts, whole ones each.")
    ] = 1,
    dp_attention: Annotated[
        int, typer.Option("--dp-attention", metavar="N", min=1, help="Groups of ranks, each its own sequences.")
    ] = 1,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TOKENS", help="Of a sequence.", show_default="the config's context")
    ] = None,
    sequences: Annotated[int | None, typer.Option("--sequences", metavar="N", min=1, help="Sequences at once.")] = None,
    dtype: Annotated[
        str,
        typer.Option(
            "--dtype", metavar="TYPE", help="Of the cache: bf16, fp8, int8, q8_0, ...", autocompletion=kept_types
        ),
    ] = "bf16",
    weights: Annotated[
        str,
        typer.Option(
            "--weights",
            metavar="FORM",
            help="stored, or supposed: bf16, fp8, nvfp4, ...",
            autocompletion=stored_or_forms,
        ),
    ] = "stored",
    reserve: Annotated[
        str, typer.Option("--reserve", metavar="BYTES", help="For all else, of each GPU: 4GiB.")
    ] = "0GiB",
    under: Annotated[
        str | None, typer.Option("--under", metavar="N", help="Only models of fewer parameters: 40B.")
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Without models: lines to show.")] = 20,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine", metavar="NAME", autocompletion=engines_named, help="vllm, llama.cpp, sglang or tensorrt-llm."
        ),
    ] = None,
    engine_version: Annotated[
        str | None, typer.Option("--engine-version", metavar="VERSION", show_default="the newest read")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="What the engine needs to know; repeatable."),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="With --engine: its inputs and rules, with sources.")] = False,
    predict: Annotated[
        Path | None,
        typer.Option(
            "--predict", metavar="FILE", help="A JSON line per line of id, engine, version, geometry, inputs."
        ),
    ] = None,
    explain_log: Annotated[
        Path | None, typer.Option("--explain-log", metavar="FILE", help="A start-up log to confirm.")
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
    model, every model of the snapshot that fits.
    """
    from pipeline.serve import asking

    asked = asking.Asked(
        models=models or [], changes=changes or [], gpu=gpu, memory=memory, gpus=gpus, tp=tp, pp=pp, ep=ep,
        dp=dp_attention, at=at, sequences=sequences, dtype=dtype, weights=weights, reserve=reserve, under=under,
        top=top, engine=engine, version=engine_version, inputs=inputs or [], rules=rules, home=home,
        snapshot=snapshot, offline=offline, endpoint=endpoint,
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
