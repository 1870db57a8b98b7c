"""The library's front door: cheap to import, and plain about what stands in its way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from places import ROOT


def test_a_foreign_package_of_the_same_name_is_named(tmp_path: Path) -> None:
    """Beside a user's own package `schemas` the import ends with a sentence that names that folder."""
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "__init__.py").touch()
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import atlas"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("ImportError: the atlas needs its own package 'schemas', but ")
    assert str(tmp_path / "schemas") in last


def test_a_plain_folder_of_the_same_name_is_no_obstacle(tmp_path: Path) -> None:
    """A folder `schemas` or `pipeline` that is no package does not hide ours."""
    for name in ("schemas", "pipeline"):
        (tmp_path / name).mkdir()
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import atlas; print(atlas.derive.__module__)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.stdout.strip() == "atlas.interpret", ended.stderr
