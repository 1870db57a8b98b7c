"""Whatever is in the way of a command is said in a sentence, with the exit code of its kind: never "unexpected"."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import hand_made
import pytest

from pipeline.cli import main
from pipeline.refresh import steps
from pipeline.store import snapshot

DAY = hand_made.DAY.isoformat()
LLAMA = (
    '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 16, "intermediate_size": 32,'
    ' "num_attention_heads": 2, "num_hidden_layers": 2, "vocab_size": 99}'
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one snapshot; tests copy it."""
    home = tmp_path_factory.mktemp("whole")
    snapshot.publish(
        home,
        hand_made.content(),
        snapshot.Publication(day=hand_made.DAY, source="hand", listed=hand_made.LISTED, code_version="0"),
    )
    return home


def a_file(name: str) -> Callable[[Path], None]:
    """A file stands where a folder belongs."""

    def spoil(home: Path) -> None:
        place = home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            shutil.rmtree(place)
        place.write_text("in the way")

    return spoil


def a_folder(name: str) -> Callable[[Path], None]:
    """A folder stands where a file belongs."""

    def spoil(home: Path) -> None:
        (home / name).unlink(missing_ok=True)
        (home / name).mkdir(parents=True)

    return spoil


def content(name: str, data: bytes | Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """A file says something else."""

    def spoil(home: Path) -> None:
        place = home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        new = data if isinstance(data, bytes) else data(place.read_bytes())
        place.unlink(missing_ok=True)
        place.write_bytes(new)

    return spoil


SNAPSHOT, INDEX, ARCHIVE = f"snapshots/{DAY}.duckdb", "snapshots/index.json", "archive/hub.sqlite"
PLACES: dict[str, Callable[[Path], None]] = {
    "snapshots is a file": a_file("snapshots"),
    "archive is a file": a_file("archive"),
    "reports is a file": a_file("reports"),
    "the guide is a file": a_file("reports/guide"),
    "exports is a file": a_file("exports"),
    "the index is a folder": a_folder(INDEX),
    "the index is empty": content(INDEX, b""),
    "the index is no JSON": content(INDEX, b"\xff\xfe{"),
    "the index has an unknown key": content(INDEX, lambda d: d.replace(b'"retracted"', b'"retractee"')),
    "the index was edited": content(INDEX, lambda d: d.replace(b'"models": 5', b'"models": 6')),
    "the snapshot is a folder": a_folder(SNAPSHOT),
    "the snapshot is gone": lambda home: (home / SNAPSHOT).unlink(),
    "the snapshot is empty": content(SNAPSHOT, b""),
    "the snapshot is another file": content(SNAPSHOT, b"no database" * 1000),
    "the archive is a folder": a_folder(ARCHIVE),
    "the archive is no database": content(ARCHIVE, b"no database" * 1000),
    "the archive is empty": content(ARCHIVE, b""),
}

COMMANDS = [
    "refresh --source FOLDER --allow-shrink", "refresh --source hub --endpoint http://127.0.0.1:9 --list LIST",
    "show org/A-8B", "compare org/A-8B org/Bamba", "sql 'SELECT 1'", "sql --all 'SELECT 1'", "snapshots ls",
    "snapshots verify", "snapshots verify --archive", "snapshots rederive latest", f"snapshots retract {DAY} --why x",
    "snapshots prune", "snapshots prune --keep-daily 1 --apply", "diff latest latest", "export parquet", "export hf",
    "guide build", "guide check", "guide site",
]  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("place", PLACES)
def test_a_broken_place_is_said(
    whole: Path, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command that reads or writes a home, in a home that is broken so: a sentence, and no unexpected error."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "a--b.json").write_text(LLAMA)
    (tmp_path / "list").write_text("a/b\n")
    monkeypatch.setattr(steps, "from_catalogue", list)
    monkeypatch.setattr(steps, "reported", dict)
    for number, command in enumerate(COMMANDS):
        if "hub" in command and "archive" not in place:
            continue
        home = Path(shutil.copytree(whole, tmp_path / str(number)))
        PLACES[place](home)
        words = command.replace("FOLDER", str(tmp_path / "configs")).replace("LIST", str(tmp_path / "list")).split()
        if "'SELECT" in words:
            words = [*words[: words.index("'SELECT")], "SELECT 1"]
        code = main([*words, "--home", str(home)])
        said = capsys.readouterr()
        assert "unexpected" not in said.err, (command, said.err)
        assert "Traceback" not in said.err, command
        assert code in {0, 1, 2, 3, 4, 5, 6, 7, 8}, (command, code)
        assert code == 0 or said.err or said.out, command
