"""Tests collected once and run as often as asked, each time in a process of its own and only those that can notice.

Before the first change every test runs once unchanged, with caches empty, and the functions of the atlas that it
enters are noted. A test that never enters a changed function does the same with the change as without it, and is not
run; nor is one that bears the name of another row than the changed one. What was entered while the tests were
collected is said to be `fresh`: such a change must be made before anything is imported.
"""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import pytest
from mutations import Point, changed_row, mutated, original
from places import ROOT

ROWS = "atlas.families.loader"
ATLAS = str(ROOT / "atlas")
STARTS = {"os.fork", "os.posix_spawn", "subprocess.Popen"}
"""Events of a test that starts a process: what is entered there is not seen, so it is always run."""


class Ran(NamedTuple):
    """What one test did unchanged."""

    failed: bool
    seconds: float
    entered: frozenset[tuple[str, int]]
    is_unseen: bool


class Collected:
    """A pytest plugin that answers requests in place of running the tests once.

    A request is a line of JSON from `asked`, an answer one to `said`: the first test that fails, or `fresh`.
    """

    def __init__(self, asked: int, said: int, *, seconds: int, but: frozenset[str]) -> None:
        self.asked, self.said, self.seconds, self.but = os.fdopen(asked), os.fdopen(said, "w"), seconds, but
        self.kills, self.failed = Counter[str](), list[str]()
        self.watch = Watch()
        self.watch.start()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for each part of each test."""
        if report.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Called once all tests are collected."""
        import hypothesis

        hypothesis.settings.register_profile("mutants", deadline=None, max_examples=20)
        hypothesis.settings.load_profile("mutants")
        self.at_import = self.watch.stop()[0]
        items = [i for i in session.items if i.nodeid not in self.but]
        _caches()
        _functions()
        gc.freeze()  # hides from the collector what is there: both have looked
        ran = {k: Ran(*v) for k, v in _apart(lambda: self._observed(session, items), self.seconds).items()}
        self._answer({"ran": {k: (r.failed, r.seconds) for k, r in ran.items()}})
        for line in self.asked:
            try:
                self._answer(self._answered(session, Point(*json.loads(line)), items, ran))
            except Exception as error:  # noqa: BLE001 - told to who asked, who ends with it
                self._answer({"error": f"{line.strip()}: {type(error).__name__}: {error}"})
        return True

    def _answered(self, session: pytest.Session, point: Point, items: list[Any], ran: dict[str, Ran]) -> dict[str, Any]:
        codes = _changed(point) if point.kind != "rows" else []
        if codes is None or any(_place(old) in self.at_import for old, _ in codes):
            return {"fresh": True}
        chosen = self._chosen(point, codes, items, ran)
        failed: list[str] = _apart(lambda: self._tried(session, point, codes, chosen), self.seconds)
        self.kills.update(failed)
        return {"failed": failed, "run": len(chosen)}

    def _answer(self, what: Any) -> None:
        self.said.write(json.dumps(what) + "\n")
        self.said.flush()

    def _observed(self, session: pytest.Session, items: list[Any]) -> dict[str, Ran]:
        """Each test once, unchanged; what a file's fixtures do is every test's of the file."""
        data = self._read_once()
        done: dict[str, tuple[bool, float, Any, bool]] = {}
        fixtures: dict[str, list[Any]] = {}
        for item, after in _with_next(items):
            for kept in _caches():
                if kept.__module__ != ROWS and not _is_data(kept):
                    kept.cache_clear()
            self.watch.start()
            begun, before = time.perf_counter(), len(self.failed)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            entered, starts = self.watch.stop()
            seen = (frozenset(entered), starts)
            done[item.nodeid] = (len(self.failed) > before, time.perf_counter() - begun, *seen)
            if _wide(item):
                fixtures.setdefault(str(item.path), []).append(seen)
        made: dict[str, Ran] = {}
        for item in items:
            failed, seconds, entered, starts = done[item.nodeid]
            if _wide(item):
                for e, s in fixtures.get(str(item.path), []):
                    entered, starts = entered | e, starts or s
            made[item.nodeid] = Ran(failed, seconds, entered | data, starts)
        return made

    def _read_once(self) -> frozenset[tuple[str, int]]:
        """What is entered while the atlas reads its files of data, once a process: every test's, whoever is first."""
        files = [kept for kept in _caches() if _is_data(kept) and kept.__module__.startswith("atlas.")]
        self.watch.start()
        for kept in files:
            kept.cache_clear()
            kept()
        return frozenset(self.watch.stop()[0])

    def _chosen(self, point: Point, codes: Any, items: list[Any], ran: dict[str, Ran]) -> list[Any]:
        places = {_place(old) for old, new in codes if _own(old) != _own(new)} or {_place(old) for old, _ in codes}
        name = Path(point.file).stem
        others = _unrelated(name) if point.kind == "rows" else frozenset[str]()

        def meets(item: Any) -> bool:
            known = ran[item.nodeid]
            about = item.nodeid.partition("[")[2].partition("]")[0].partition("-")[0]
            concerned = about not in others if point.kind == "rows" else bool(places & known.entered)
            return not known.failed and (known.is_unseen or concerned)

        def order(item: Any) -> tuple[Any, ...]:
            is_named = point.kind == "rows" and f"[{name}" in item.nodeid
            return (not is_named, -self.kills[item.nodeid], ran[item.nodeid].seconds)

        return sorted((i for i in items if meets(i)), key=order)

    def _tried(self, session: pytest.Session, point: Point, codes: Any, chosen: list[Any]) -> list[str]:
        for kept in _caches():
            kept.cache_clear()
        if point.kind == "rows":
            changed, name = dict(changed_row(point)), Path(point.file).stem
            rows_from(lambda asked, written: copy.deepcopy(changed) if asked == name else written(asked))
        for function in _functions():
            for old, new in codes:
                if function.__code__ == old and function.__code__.co_filename == old.co_filename:
                    function.__code__ = new
                    break
        session.config._tmp_path_factory._basetemp = Path(tempfile.mkdtemp())  # type: ignore[attr-defined]
        try:
            for item, after in _with_next(chosen):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if self.failed:
                    break
        finally:
            shutil.rmtree(session.config._tmp_path_factory._basetemp, ignore_errors=True)  # type: ignore[attr-defined]
        return self.failed


class Watch:
    """Notes what is entered between start and stop."""

    def __init__(self) -> None:
        self.codes: dict[int, CodeType] = {}
        self.places: dict[tuple[str, int], tuple[str, int]] = {}
        self.is_on = self.starts = False
        sys.addaudithook(self._event)

    def start(self) -> None:
        """Begin with nothing."""
        import threading

        self.codes, self.starts, self.is_on = {}, False, True
        threading.settrace(self._called)
        sys.settrace(self._called)

    def stop(self) -> tuple[set[tuple[str, int]], bool]:
        """Functions of the atlas that were entered, and whether a process was started."""
        import threading

        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        self.is_on = False
        met = {_place(c) for c in self.codes.values() if c.co_filename.startswith(ATLAS)}
        # Places are few and met often: one object each keeps the answer short.
        return {self.places.setdefault(p, p) for p in met}, self.starts

    def _called(self, frame: Any, event: str, what: Any) -> None:
        """Called for a call alone: a tracer that returns none is told no lines."""
        self.codes[id(frame.f_code)] = frame.f_code

    def _event(self, event: str, args: tuple[Any, ...]) -> None:
        if self.is_on:
            self.starts = self.starts or event in STARTS


def rows_from(answer: Callable[[str, Callable[[str], Any]], Any]) -> None:
    """Let `row` of the loader answer so, wherever it was imported; `answer` is given what reads the file too."""
    from atlas.families import loader

    inside = loader.row.__globals__
    written = FunctionType(loader.row.__code__, inside)
    inside["_instead"] = lambda name: answer(name, written)
    loader.row.__code__ = (lambda model_type: _instead(model_type)).__code__  # type: ignore[name-defined] # noqa: F821, PLW0108


def _unrelated(name: str) -> frozenset[str]:
    """Rows made without this one, wrappers apart: a test that bears such a row's name says nothing of it."""
    from atlas.families import available, loader

    rows = {r for r in available() if loader.known(r)}
    return frozenset(r for r in rows if name not in loader.lineage(r) and loader.family(r).text is None)


@functools.lru_cache(maxsize=1)
def _caches() -> list[Any]:
    """Caches of this project's functions."""
    kept: list[Any] = [o for o in gc.get_objects() if isinstance(o, functools._lru_cache_wrapper)]
    ours = [o for o in kept if isinstance(o.__wrapped__, FunctionType) and _is_ours(o.__wrapped__.__code__)]
    return [o for o in ours if o.__module__ != __name__]


@functools.lru_cache(maxsize=1)
def _functions() -> list[FunctionType]:
    """Functions of the atlas, as they were when the tests had been collected."""
    return [f for f in gc.get_objects() if isinstance(f, FunctionType) and f.__code__.co_filename.startswith(ATLAS)]


def _is_data(kept: Any) -> bool:
    """Whether a cached function takes nothing: it reads a file, which would take longer than most tests."""
    code = kept.__wrapped__.__code__
    return code.co_argcount + code.co_kwonlyargcount == 0 and not code.co_flags & _MORE


_MORE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(str(ROOT)) and ".venv" not in code.co_filename


def _wide(item: Any) -> bool:
    """Whether a test takes a fixture of its file that others take too."""
    made = [d for several in item._fixtureinfo.name2fixturedefs.values() for d in several if d.scope != "function"]
    return any(isinstance(d.func, FunctionType) and d.func.__code__.co_filename == str(item.path) for d in made)


def _with_next(items: list[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(items, [*items[1:], None], strict=True) if items else iter(())


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_filename, code.co_firstlineno


def _changed(point: Point) -> list[tuple[CodeType, CodeType]] | None:
    """Functions before and after; none where the change is outside of every function."""
    path = str(ROOT / point.file)
    pairs = list(_differing(compile(original(point), path, "exec"), compile(mutated(point), path, "exec")))
    functions = [(a, b) for a, b in pairs if a.co_flags & inspect.CO_OPTIMIZED]  # no module and no class
    own = [(a, b) for a, b in pairs if not a.co_flags & inspect.CO_OPTIMIZED and _own(a) != _own(b)]
    alive = [f.__code__ for f in _functions() if f.__code__.co_filename == path]
    if own or not functions or functions[0][0] not in alive:
        return None
    return functions


def _own(code: CodeType) -> tuple[Any, ...]:
    return code.co_code, code.co_names, [c for c in code.co_consts if not isinstance(c, CodeType)]


def _differing(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    if old != new:
        yield old, new
        inner = ([c for c in code.co_consts if isinstance(c, CodeType)] for code in (old, new))
        for a, b in zip(*inner, strict=True):
            yield from _differing(a, b)


def _apart(what: Callable[[], Any], seconds: int) -> Any:
    """What is answered by a process of its own; an end before the answer counts as a failure."""
    import pickle

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(seconds)
        try:
            found = what()
        except BaseException as error:  # noqa: BLE001 - a change that cannot even be run is noticed
            found = [f"{type(error).__name__}: {error}"[:200]]
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(found, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(said) if said else ["ended early"]


class Server:
    """A process that has collected the tests; `shared` says whether it may see the reference data."""

    def __init__(self, tests: Sequence[str], *, shared: bool, seconds: int, but: frozenset[str] = frozenset()) -> None:
        (ours, to), (come, theirs) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(to)
            os.close(come)
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            os.chdir(ROOT)
            import places

            if not shared:
                places.SHARED = ROOT / "absent"
            options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]
            plugin = Collected(ours, theirs, seconds=seconds, but=but)
            pytest.main([*options, *tests], plugins=[plugin])
            os._exit(0)
        os.close(ours)
        os.close(theirs)
        self.to, self.come = os.fdopen(to, "w"), os.fdopen(come)
        first = self.come.readline()
        if not first:
            raise SystemExit("the tests cannot be collected")
        self.ran: dict[str, tuple[bool, float]] = json.loads(first)["ran"]

    def ask(self, point: Point) -> dict[str, Any]:
        """The first test that fails with the change made."""
        self.to.write(json.dumps(point) + "\n")
        self.to.flush()
        answer: dict[str, Any] = json.loads(self.come.readline())
        if "error" in answer:
            raise SystemExit(answer["error"])
        return answer
