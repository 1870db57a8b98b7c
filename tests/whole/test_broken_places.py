"""Whatever is in the way of a command is said in a sentence, with the exit code of its kind: never "unexpected"."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import hand_made
import pytest
import years_made
from failpoints import passages

from pipeline.cli import main
from pipeline.hub import crawl
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
    "show org/A-8B", "compare org/A-8B org/Bamba", "sql QUERY", "sql --all QUERY", "snapshots ls",
    "snapshots verify", "snapshots verify --archive", "snapshots rederive latest", f"snapshots retract {DAY} --why x",
    "snapshots prune", "snapshots prune --keep-daily 1 --apply", "diff latest latest", "export parquet", "export hf",
    "guide build", "guide check", "guide site",
]  # fmt: skip


ENVIRONMENT: dict[str, dict[str, str | None]] = {
    "no home of the user": {"HOME": "/nowhere", "HF_HOME": "/nowhere/hf"},
    "no variables of the user": {"HOME": None, "USER": None, "LANG": None, "PATH": None},
    "a terminal of no width": {"COLUMNS": "0", "LINES": "0"},
    "a terminal of a negative width": {"COLUMNS": "-7"},
    "a terminal of words": {"COLUMNS": "wide"},
    "a dumb terminal": {"TERM": "dumb", "NO_COLOR": "1"},
    "an endpoint of nothing": {"HF_ENDPOINT": ""},
    "an endpoint that is none": {"HF_ENDPOINT": "nowhere"},
    "an endpoint of another kind": {"HF_ENDPOINT": "file:///etc"},
    "an endpoint with a password": {"HF_ENDPOINT": "http://me:secret@127.0.0.1:9"},
    "an endpoint with nobody": {"HF_ENDPOINT": "http://127.0.0.1:9"},
    "offline": {"HF_HUB_OFFLINE": "1"},
    "a token of spaces": {"HF_TOKEN": "a b"},
    "a token of letters that none has": {"HF_TOKEN": "h\u00e9"},
    "a token of many lines": {"HF_TOKEN": "a\nb"},
    "a proxy with nobody": {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"},
    "a temporary folder that is none": {"TMPDIR": "/nowhere"},
    "a home of the atlas that is a file": {"ATLAS_HOME": "/etc/passwd"},
    "a failpoint that is none": {"ATLAS_FAILPOINT": "nowhere"},
    "a time zone that is none": {"TZ": "Mars/Base"},
}
"""What the environment may say; None takes a variable away."""

POINTS = [
    f"{point}:{'enospc' if number % 2 else 'eio'}"
    for number, point in enumerate(p for p in passages() if p.startswith(("archive.", "snapshot.")))
]
"""Writes at which the disk fails; those of pages and exports have tests of their own."""

WRITES = {
    "archive": "refresh --source hub --endpoint http://127.0.0.1:9 --list LIST",
    "snapshot": "refresh --source FOLDER --allow-shrink",
    "snapshot.index": f"snapshots retract {DAY} --why x",
    "snapshot.checked": "sql --all QUERY",
}
"""Commands that come to the writes of a room, or to one."""


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Give a function that runs a command in a home and sees how it ends."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "a--b.json").write_text(LLAMA)
    (tmp_path / "list").write_text("a/b\n")
    years_made.cheapen(monkeypatch)
    monkeypatch.setattr(crawl, "Limits", lambda: years_made.QUICK)
    texts = {"FOLDER": str(tmp_path / "configs"), "LIST": str(tmp_path / "list"), "QUERY": "SELECT 1"}

    def run(home: Path, command: str) -> None:
        code = main([*(texts.get(word, word) for word in command.split()), "--home", str(home)])
        told = capsys.readouterr()
        assert "unexpected" not in told.err, (command, told.err)
        assert "Traceback" not in told.err, command
        assert "secret" not in told.err, command
        assert code in {0, 1, 2, 3, 4, 5, 6, 7, 8}, (command, code)
        assert code == 0 or told.err or told.out, command

    return run


def some(of: list[str], number: int, many: int) -> list[str]:
    """So many of a list, from another place each time, so that together all are taken."""
    return [of[(number * many + i) % len(of)] for i in range(many)]


BRISK = [c for c in COMMANDS if not c.startswith(("guide", "export", "snapshots rederive"))]


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_a_broken_place_is_said(whole: Path, tmp_path: Path, place: str, said: Callable[..., None]) -> None:
    """Some commands in a home that is broken so: a sentence, and no unexpected error; the soak runs them all."""
    for number, command in enumerate(some(BRISK, list(PLACES).index(place), 4)):
        if "hub" in command and "archive" not in place:
            continue
        home = Path(shutil.copytree(whole, tmp_path / str(number)))
        PLACES[place](home)
        said(home, command)


@pytest.mark.soak
@pytest.mark.parametrize("place", PLACES)
def test_every_command_in_a_broken_place(whole: Path, tmp_path: Path, place: str, said: Callable[..., None]) -> None:
    """Every command that reads or writes a home."""
    for number, command in enumerate(COMMANDS):
        home = Path(shutil.copytree(whole, tmp_path / str(number)))
        PLACES[place](home)
        said(home, command)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENVIRONMENT)
def test_an_environment_that_says_nonsense_is_put_up_with(
    whole: Path, tmp_path: Path, name: str, said: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader, a writer and what would ask the Hub: an answer or a sentence."""
    for variable, value in ENVIRONMENT[name].items():
        monkeypatch.delenv(variable, raising=False) if value is None else monkeypatch.setenv(variable, value)
    home = Path(shutil.copytree(whole, tmp_path / "home"))
    for command in ("show org/A-8B", "refresh --source FOLDER --allow-shrink", "refresh --source hub --list LIST"):
        if "hub" not in command or name.startswith(("an endpoint", "offline", "a token")):
            said(home, command)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_disk_that_fails_at_a_write_is_said(
    whole: Path, tmp_path: Path, point: str, said: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full or ill at each passage of each write that a command can be brought to."""
    room, write = point.split(".", maxsplit=1)[0], ".".join(point.split(".")[:2])
    home = Path(shutil.copytree(whole, tmp_path / "home"))
    monkeypatch.setenv("ATLAS_FAILPOINT", point)
    said(home, WRITES.get(write, WRITES[room]))
    monkeypatch.delenv("ATLAS_FAILPOINT")
    assert [entry.id for entry in snapshot.verify(home)]
