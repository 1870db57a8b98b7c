"""The machine that a measurement ran on, in words."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hardware() -> str:
    """The processor by its own name, and the cores that were free to use."""
    return f"{_processor()}, {cores()} cores"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def load() -> str:
    """How many processes wanted the machine in the last minute, this one among them."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "not known"


def system() -> str:
    """Python and the kind of system."""
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
