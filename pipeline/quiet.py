"""What Prefect is told before it is imported: no telemetry, and time for its first server to start.

Only defaults: what the environment says already stands.
"""

from __future__ import annotations

import os

SETTINGS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
}


def prefect() -> None:
    """Set the defaults in this process's environment, which its children inherit."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
