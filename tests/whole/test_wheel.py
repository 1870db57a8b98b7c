"""The wheel: what a user installs works in an empty folder, away from this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from places import ROOT

from pipeline import __version__, cli

pytestmark = pytest.mark.slow


class Installed:
    """An unpacked installation of the wheel, and an empty folder to work in."""

    def __init__(self, site: Path, folder: Path, wheel: Path) -> None:
        self.site, self.folder, self.wheel = site, folder, wheel

    def python(self, *arguments: str) -> str:
        """Run Python in the empty folder, with the installation before everything else, and return its stdout."""
        return self._run(sys.executable, *arguments)

    def atlas(self, *arguments: str) -> str:
        """Run the installed command in the empty folder and return its stdout."""
        return self._run(str(self.site / "bin" / "atlas"), *arguments)

    def _run(self, *command: str) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ATLAS_")}
        environment["PYTHONPATH"] = str(self.site)
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheel and install it without its dependencies: those are the test environment's own."""
    base = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(base)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = base.glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*install, "--target", str(base / "site"), str(wheel)], check=True, capture_output=True)
    (base / "empty").mkdir()
    return Installed(base / "site", base / "empty", wheel)


def test_the_wheel_holds_three_packages_and_nothing_else(installed: Installed) -> None:
    """Only `atlas`, `schemas` and `pipeline` are installed, beside the wheel's own record."""
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(installed.wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"atlas", "schemas", "pipeline"}


@pytest.mark.parametrize(
    ("source", "inside"),
    [
        ("atlas/families", "atlas/families"),
        ("pipeline/sources/catalogue", "pipeline/sources/catalogue"),
        ("reports/pages", "pipeline/guide/pages"),
    ],
)
def test_the_wheel_holds_all_package_data(source: str, inside: str, installed: Installed) -> None:
    """Family rows, the catalogue and the page sources are inside, byte for byte."""
    theirs = {path.relative_to(ROOT / source) for path in (ROOT / source).rglob("*") if _is_source(path)}
    for path in theirs:
        assert (installed.site / inside / path).read_bytes() == (ROOT / source / path).read_bytes()


def test_licence_notices_and_citation_travel(installed: Installed) -> None:
    """The wheel holds them beside its metadata, says that it is typed, and the citation names its version."""
    names = {name.rpartition("/")[2] for name in zipfile.ZipFile(installed.wheel).namelist()}
    assert {"LICENSE", "NOTICE", "CITATION.cff", "py.typed"} <= names
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_installed_code_is_the_wheels(installed: Installed) -> None:
    """The checkout does not shine through: the package comes from the installation."""
    where = installed.python("-c", "import pipeline.cli; print(pipeline.cli.__file__)")
    assert Path(where.strip()) == installed.site / "pipeline" / "cli.py"


def test_help_and_version_work_in_an_empty_folder(installed: Installed) -> None:
    """The installed command starts, and leaves the folder empty."""
    assert installed.atlas("--version") == f"atlas {__version__}\n"
    assert installed.atlas("--help").startswith("Usage: atlas")
    assert list(installed.folder.iterdir()) == []


@pytest.mark.parametrize("name", cli.names())
def test_every_command_is_in_the_wheel(name: str, installed: Installed) -> None:
    """Each command of this checkout starts from the installation."""
    assert installed.atlas(name, "--help").startswith(f"Usage: atlas {name}")


def _is_source(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts
