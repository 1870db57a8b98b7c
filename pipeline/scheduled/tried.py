"""What is said of a task that failed: why, and whether and when it is tried again."""

from __future__ import annotations

from typing import Any

import prefect
import prefect.runtime.task_run
from prefect.client.schemas.objects import TaskRun
from prefect.logging.loggers import task_run_logger

from pipeline.text import terminal


def times() -> int:
    """The how-manieth try of a task this is; 1 outside a task."""
    return int(prefect.runtime.task_run.run_count or 1)


def told(task: prefect.Task[Any, Any], run: TaskRun, why: str, *, again: bool) -> None:
    """Log what failed and how long the next try waits; jitter may add half of that."""
    left = int(task.retries or 0) - run.run_count + 1
    logger = task_run_logger(run, task)
    if not again or left < 1:
        logger.warning("%s failed and is not tried again: %s", task.name, terminal(why))
        return
    logger.warning(
        "%s failed: %s; tried again in about %.0f s, %d more times at most",
        task.name, terminal(why), _delay(task.retry_delay_seconds, run.run_count), left,
    )  # fmt: skip


def _delay(seconds: Any, tries: int) -> float:
    """The wait after so many tries: one number for all, or one for each."""
    if isinstance(seconds, (int, float)):
        return float(seconds)
    waits = list(seconds or [0.0])
    return float(waits[min(max(tries, 1), len(waits)) - 1])
