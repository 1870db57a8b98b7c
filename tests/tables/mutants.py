"""Changes one point of rows, parts, layouts or core at a time and runs the tests that should notice.

    make mutants                  300 points, with and without the reference data beside this checkout
    python tests/tables/mutants.py --points 100 --seed 2 --kind rows

Each point is a process of its own, so no file is changed on disk.
Survivors are held against `fixtures/survivors.toml`: one that is not listed there with its reason ends with code 1.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import json
import os
import random
import re
import signal
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support")]

SEED, POINTS, SECONDS = 9, 300, 1200
SHARE = {"rows": 0.3, "parts": 0.35, "layouts": 0.15, "core": 0.2}
"""Of every hundred points, how many are of a kind."""

TESTS = (
    "tests/whole/test_oracle.py", "tests/whole/test_costs.py", "tests/whole/test_facts.py", "tests/atlas",
    "tests/whole/test_traps.py", "tests/whole/test_seeds.py", "tests/pipeline/sources/test_catalogue.py",
    "tests/pipeline/refresh/test_holding.py", "tests/whole/test_states.py", "tests/whole/test_towers.py",
    "tests/whole/test_hub_totals.py", "tests/whole/test_types.py", "tests/whole/test_mutants.py",
    "tests/whole/test_witnesses.py::test_nothing_contradicts_the_rows_as_they_are",
)  # fmt: skip
"""What should notice. Left out: tests that hold one way of asking, of writing or of drawing against another."""


AGAIN = ("atlas", "schemas", "mutations", "collected", "places")
"""Modules that a process with a change imports anew."""


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module from a changed tree instead of its file."""

    def __init__(self, name: str, path: Path, code: Any) -> None:
        self.name, self.path, self.code = name, path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's spec; none for any other name."""
        if fullname != self.name:
            return None
        is_package = self.path.name == "__init__.py"
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(self.path), is_package=is_package)
        if is_package:
            spec.submodule_search_locations = [str(self.path.parent)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed code."""
        module.__file__ = str(self.path)
        exec(self.code, module.__dict__)


class Failures:
    """A plugin that remembers which tests failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_collection_finish(self) -> None:
        """Called before the first test: a few examples of each law will do."""
        import hypothesis

        hypothesis.settings.register_profile("mutants", deadline=None, max_examples=20)
        hypothesis.settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for each part of each test."""
        if report.failed:
            self.names.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        """Called for each file; one that cannot be imported has failed."""
        if report.failed:
            self.names.append(report.nodeid or "import")


def install(point: Any) -> None:
    """Make the change in this process, before anything of the atlas is imported."""
    from mutations import mutated

    path = ROOT / point.file
    name = point.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    code = compile(mutated(point), str(path), "exec")
    for loaded in [m for m in sys.modules if m.partition(".")[0] in AGAIN]:
        del sys.modules[loaded]
    sys.meta_path.insert(0, Finder(name, path, code))


def run(point: Any, known: Sequence[str], *, shared: bool, first: bool = True) -> list[str]:
    """The tests that fail with the change made, the first alone by default; in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(point, known, writer, shared=shared, first=first)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else ["ended early"]


def _child(point: Any, known: Sequence[str], writer: int, *, shared: bool, first: bool) -> None:
    import pytest

    signal.alarm(SECONDS)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.chdir(ROOT)
    found = Failures()
    try:
        if point is not None:
            install(point)
        import places

        if not shared:
            places.SHARED = ROOT / "absent"
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", *(["-x"] if first else [])]
        pytest.main([*options, *[f"--deselect={name}" for name in known], *TESTS], plugins=[found])
    except BaseException as error:  # noqa: BLE001 - a change that cannot even be imported is noticed
        found.names.append(f"{type(error).__name__}: {error}"[:200])
    os.write(writer, json.dumps(found.names[:200]).encode())
    os._exit(0)


def drawn(number: int, seed: int, kind: str | None) -> list[Any]:
    """Points drawn with a fixed seed, so many of each kind, mixed: a run that is stopped has seen some of each."""
    from mutations import points

    by_kind: dict[str, list[Any]] = defaultdict(list)
    for point in points():
        by_kind[point.kind].append(point)
    chosen = random.Random(seed)
    shares = SHARE if kind is None else {kind: 1.0}
    found = [
        p for k, share in shares.items() for p in chosen.sample(by_kind[k], min(round(number * share), len(by_kind[k])))
    ]
    chosen.shuffle(found)
    return found


def survivors() -> dict[str, str]:
    """Changes that make no difference, with the reason."""
    return tomllib.loads((ROOT / "tests/fixtures/survivors.toml").read_text("utf-8"))["survivors"]


def untouched(names: Iterable[str]) -> frozenset[str]:
    """The tests that cannot see the reference data: neither their file nor what it imports of ours speaks of it."""
    support = {p.stem: p.read_text("utf-8") for p in (ROOT / "tests/support").glob("*.py")}

    @cache
    def speaks(text: str) -> bool:
        if "SHARED" in text or "shared: Path" in text:
            return True
        imported = re.findall(r"^ *(?:from|import) (\w+)", text, re.MULTILINE)
        return any(speaks(support[m]) for m in imported if m in support and m not in ("places", "mutations"))

    by_file = {f: speaks((ROOT / f).read_text("utf-8")) for f in {n.partition("::")[0] for n in names}}
    return frozenset(n for n in names if not by_file[n.partition("::")[0]])


def asked_of(server: Any, point: Any, known: Sequence[str], *, shared: bool) -> list[str]:
    """The first test that fails with the change made."""
    answer = server.ask(point)
    return run(point, known, shared=shared) if "fresh" in answer else answer["failed"]


def main() -> int:
    """Draw, change, run, and print what was noticed by kind."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--points", type=int, default=POINTS)
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--only", help="of those drawn the points whose name holds this")
    options.add_argument("--tests", nargs="+", default=TESTS, help="other tests than all that should notice")
    options.add_argument("--kind", choices=sorted(SHARE))
    options.add_argument("--without-shared", action="store_true", help="as where no reference data is at hand")
    asked = options.parse_args()
    from collected import Server

    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = tempfile.mkdtemp()
    sys.dont_write_bytecode = True
    listed, tests = survivors(), asked.tests
    chosen = [p for p in drawn(asked.points, asked.seed, asked.kind) if not asked.only or asked.only in str(p)]
    alone = Server(tests, shared=False, seconds=SECONDS)
    beside = None if asked.without_shared else Server(tests, shared=True, seconds=SECONDS, but=untouched(alone.ran))
    known = sorted({n for s in (alone, beside) if s for n, (failed, _) in s.ran.items() if failed})
    print(f"{len(chosen)} points; {len(known)} tests fail unchanged and are left out: {known}", flush=True)
    noticed, noticed_alone, unlisted = Counter[str](), Counter[str](), []
    for number, point in enumerate(chosen, 1):
        failed = asked_of(alone, point, known, shared=False)
        noticed_alone[point.kind] += bool(failed)
        with_shared = not failed and beside is not None
        failed = asked_of(beside, point, known, shared=True) if with_shared else failed
        noticed[point.kind] += bool(failed)
        by = failed[0].rpartition("/")[2] if failed else ("listed" if str(point) in listed else "NOTHING")
        print(f"{number:4} {point.kind:8} {point} | {'shared: ' if failed and with_shared else ''}{by}", flush=True)
        unlisted += [] if failed or str(point) in listed else [str(point)]
    every = Counter(p.kind for p in chosen)
    for kind, n in [*sorted(every.items()), ("all", len(chosen))]:
        held, held_alone = ((c.total() if kind == "all" else c[kind]) for c in (noticed, noticed_alone))
        print(f"{kind:8} {held:4} of {n:4} noticed, {held / n:.0%}; {held_alone / n:.0%} without the reference data")
    print(f"{len(unlisted)} survivors are neither killed nor listed in tests/fixtures/survivors.toml")
    return bool(unlisted)


if __name__ == "__main__":
    sys.exit(main())
