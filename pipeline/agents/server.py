"""The answers over the Model Context Protocol, on stdio, by the official SDK (extra `mcp`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.agents import answers
from pipeline.agents.fence import RULE
from pipeline.errors import Usage

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from pipeline.ask.found import Asking

INSTRUCTIONS = (
    "Language-model architectures, exact from configs, with evidence. Quote a number with its unit, verdict, snapshot"
    f" and source. 'not in the atlas' and null are no zeros. Sizes are logical bytes. {RULE}"
)


def made(asking: Asking) -> MCPServer:
    """The server with its tools. Raises `Usage` where the SDK is not installed."""
    try:
        from mcp.server import MCPServer
    except ModuleNotFoundError as error:
        raise Usage("the SDK is not installed: pip install 'llm-architecture-atlas[mcp]'") from error
    from pipeline import __version__

    server = MCPServer("atlas", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
    _add(server, asking)
    return server


def _add(server: MCPServer, asking: Asking) -> None:
    @server.tool()
    def find(text: str, limit: int = 10) -> str:
        """Names of models in the atlas that hold every word of `text`."""
        return answers.find(asking, text, limit)

    @server.tool()
    def show(
        model: str,
        fields: list[str] | None = None,
        at: str | None = None,
        dtype: str = "bf16",
        what_if: list[str] | None = None,
    ) -> str:
        """One model by any name (loose, OWNER/NAME@REVISION, an allowed path): figures with units, verdict and source.

        `fields` are columns of view fingerprints; `at` (8192, 128k) and `dtype` (bf16, fp8) give the cache's bytes;
        `what_if` sets keys of its config: ["num_key_value_heads=4"].
        """
        return answers.show(asking, model, fields, answers.Cache(at, dtype), what_if or [])

    @server.tool()
    def compare(
        models: list[str],
        fields: list[str] | None = None,
        at: str | None = None,
        dtype: str = "bf16",
        what_if: list[str] | None = None,
    ) -> str:
        """Two to six models side by side: the columns asked for, or the leading ones that differ.

        `what_if` sets keys of all their configs (KEY=VALUE), or of the second alone (B:KEY=VALUE).
        """
        return answers.compare(asking, models, fields, answers.Cache(at, dtype), what_if or [])

    @server.tool()
    def evidence(model: str, field: str | None = None) -> str:
        """Where a value of a model comes from: origin and source, for one field or all."""
        return answers.evidence(asking, model, field)

    @server.tool()
    def sql(query: str) -> str:
        """One SELECT on the snapshot (DuckDB), read-only, 20 s: fingerprints, layers, evidence, reported, ..."""
        return answers.sql(asking, query)

    @server.tool()
    def fit(
        model: str,
        gpu: str,
        gpus: int = 1,
        at: str | None = None,
        sequences: int | None = None,
        dtype: str = "bf16",
        what_if: list[str] | None = None,
    ) -> str:
        """Whether a model fits on GPUs (h100, a100, l4, ...), with how many sequences and how much context."""
        options = {"gpu": gpu, "gpus": gpus, "at": at, "sequences": sequences, "dtype": dtype}
        return answers.fit(asking, model, options, what_if or [])
