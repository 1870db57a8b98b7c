"""What Prefect is told before it is imported: no telemetry, and time for its first server to start.

Importing this sets the defaults in the environment, which child processes inherit; what stands there already stays.
"""

from __future__ import annotations

import os

SETTINGS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
}


def apply() -> None:
    """Set what the environment does not say."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


apply()
