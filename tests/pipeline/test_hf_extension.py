"""The atlas as an extension of huggingface_hub's own command: `hf atlas`, loaded by the library's own dispatcher."""

from __future__ import annotations

import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.cli import extensions
from places import ROOT

from pipeline import __version__


def test_the_package_has_the_script_that_an_extension_needs() -> None:
    """An installed extension is run by its console script `hf-NAME`: it is the command itself."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts["hf-atlas"] == scripts["atlas"]


def test_hf_hands_a_command_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`hf atlas ...` runs the script with the arguments behind its name, and ends with its exit code."""
    script = tmp_path / "script"
    script.write_text(f"#!{sys.executable}\nimport sys\nsys.path[:0] = {sys.path!r}\n"
                      "from pipeline.cli import main\nsys.exit(main())\n")  # fmt: skip
    script.chmod(0o755)
    monkeypatch.setattr(extensions, "EXTENSIONS_ROOT", tmp_path)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_UPDATE_CHECK", True)
    extensions.ExtensionManifest(
        owner="org", repo="hf-atlas", repo_id="org/hf-atlas", short_name="atlas", executable_path=str(script),
        type="python", installed_at=datetime.now(UTC),
    ).save(tmp_path / "hf-atlas")  # fmt: skip
    assert extensions.dispatch_unknown_top_level_extension(["atlas", "--version"], {"auth", "models"}) == 0
    assert capfd.readouterr().out == f"atlas {__version__}\n"
    assert extensions.dispatch_unknown_top_level_extension(["atlas", "show", "-nothing"], {"auth"}) == 2
