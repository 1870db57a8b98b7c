"""Serves the refresh flow on a schedule, once at a time, with Prefect's own server where none is set up."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pipeline.scheduled.quiet  # noqa: F401 - Prefect reads the settings while it is imported
from pipeline.errors import AtlasError, Usage

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

NAME = "scheduled"
PORT = 4200
"""Prefect's usual port."""
PATIENCE_SECONDS = 180.0
"""For the server's first start, which makes its database."""


def deployment(cron: str, timezone: str, parameters: Mapping[str, Any]) -> RunnerDeployment:
    """The refresh flow on a cron schedule; a run that would begin while another is running is cancelled.

    Raises:
        Usage: the cron expression or the time zone is none, or a parameter may not be stored.
    """
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType
    from pydantic import ValidationError

    from pipeline.scheduled import flows

    flows.without_secrets(parameters.get("endpoint"))
    try:
        CronSchedule(cron=cron, timezone=timezone)
    except ValidationError as error:
        raise Usage(
            f'--cron "{cron}" --timezone {timezone}: {error.errors()[0]["msg"]}; every day at six is "0 6 * * *"'
        ) from error
    return flows.refresh.to_deployment(
        NAME,
        schedule=Cron(cron, timezone=timezone),
        parameters=dict(parameters),
        paused=False,
        entrypoint_type=EntrypointType.MODULE_PATH,
        concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
        description="atlas refresh, by atlas schedule",
    )  # pyright: ignore[reportReturnType] - it is no coroutine where no loop runs


def serve(made: RunnerDeployment) -> None:
    """Run the deployment's flow runs in child processes of this one, until interrupted."""
    import prefect

    prefect.serve(made, print_starting_message=False)


@contextmanager
def server(port: int = PORT) -> Iterator[str]:
    """The address of Prefect's pages: of the server that is set up, or of one on the loopback that ends with this.

    Raises:
        AtlasError: the port is taken, or the server does not start.
    """
    from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL, temporary_settings

    if PREFECT_API_URL.value():
        yield PREFECT_UI_URL.value() or PREFECT_API_URL.value()
        return
    address = f"http://127.0.0.1:{port}"
    with _started(port), temporary_settings({PREFECT_API_URL: f"{address}/api"}):
        yield address


@contextmanager
def _started(port: int) -> Iterator[None]:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise AtlasError(
                f"port {port} is taken: set PREFECT_API_URL where a Prefect server runs there, or name another --port"
            )
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    # A session of its own: Ctrl-C is for the runner, which still needs the server to take its schedule back.
    address = f"http://127.0.0.1:{port}/api"
    told = {"PREFECT_SERVER_UI_API_URL": address, "PREFECT_UI_API_URL": address, "PREFECT_SERVER_API_PORT": str(port)}
    child = subprocess.Popen(  # noqa: S603 - a command of our own
        [*command, "--log-level", "ERROR"], stdout=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, **told},  # else its pages ask Prefect's usual port, and stay blank
    )  # fmt: skip
    try:
        _wait(child, f"http://127.0.0.1:{port}/api/health")
        yield
    finally:
        child.terminate()
        child.wait()


def _wait(child: subprocess.Popen[bytes], health: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end and child.poll() is None:
        try:
            with urllib.request.urlopen(health, timeout=5):  # noqa: S310 - an address of our own
                return
        except OSError:
            time.sleep(0.2)
    raise AtlasError(
        "Prefect's server did not start; 'prefect server start' shows why, and PREFECT_API_URL names one that runs"
    )
