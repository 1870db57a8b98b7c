"""Deriving in processes gives what one gives, and none of them outlives the refresh, whatever ends it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from pipeline.errors import AtlasError
from pipeline.refresh import records, steps, workers
from pipeline.store import build
from tests.pipeline.refresh.test_batches import DAY, config, found

FOR_EVER = """
from pipeline.refresh import workers
with workers.submitting(2) as submit:
    for _ in iter(int, 1):
        [p.result() for p in [submit([b"{}"]), submit([b"[]"])]]
        print("derived", flush=True)
"""
SECONDS = 60
"""How long a process may take to begin or end before the test says it does not."""


def test_processes_give_the_tables_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a number of repositories batches go to two processes, and every table has the digest it has without."""
    monkeypatch.setattr(workers, "FEW", 10)
    one, two = (
        steps.tabulate(records.Gathered(iter(found()), DAY, len(found())), processes=processes) for processes in (1, 2)
    )
    assert build.digests(build.ordered(two)) == build.digests(build.ordered(one))


def test_a_killed_process_is_told_in_a_sentence() -> None:
    """Where the system ends a process, the refresh ends with what to do, and no process is left."""
    with workers.submitting(1) as submit:
        submit([config(16)]).result()
        (process,) = multiprocessing.active_children()
        process.kill()
        process.join()
        with pytest.raises(AtlasError, match="--workers 1"):
            submit([config(32)]).result()
    assert not multiprocessing.active_children()


@pytest.fixture
def at_work() -> Iterator[subprocess.Popen[bytes]]:
    """A process that derives in two others, each of which has answered; the three are a group of their own."""
    command = [sys.executable, "-c", FOR_EVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"derived\n"
        yield parent
        if is_there(parent.pid):
            os.killpg(parent.pid, signal.SIGKILL)


def is_there(group: int) -> bool:
    """Whether any process of a group still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def ends(group: int) -> bool:
    """Whether every process of a group ends in time."""
    last = time.monotonic() + SECONDS
    while is_there(group) and time.monotonic() < last:
        time.sleep(0.05)
    return not is_there(group)


def test_ctrl_c_ends_every_process_and_only_the_first_says_so(at_work: subprocess.Popen[bytes]) -> None:
    """A terminal tells all of them at once; one traceback at most comes out, that of the process the user started."""
    os.killpg(at_work.pid, signal.SIGINT)
    _, said = at_work.communicate(timeout=SECONDS)
    assert said.count(b"KeyboardInterrupt") == 1
    assert at_work.returncode == -signal.SIGINT
    assert ends(at_work.pid)


def test_processes_end_with_one_that_was_killed(at_work: subprocess.Popen[bytes]) -> None:
    """Killed for lack of memory, a refresh leaves none of its processes behind."""
    at_work.kill()
    at_work.wait(SECONDS)
    assert ends(at_work.pid)
