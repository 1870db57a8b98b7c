"""Headers on disk and over sockets: real files, shards, indexes, damage, and a Hub that fails."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina
from hub_server import HubServer, Population, Reply, Repo
from shrunk import checkpoints, folder, write

from pipeline.errors import Invalid, NotFound, Upstream
from pipeline.hub import remote
from pipeline.sources.headers import length, local, read

LLAMA = checkpoints()["llama"]


def test_a_header_written_by_the_library_is_read_back(tmp_path: Path) -> None:
    """Name, type and shape of every tensor of a real file."""
    write(tmp_path / "model.safetensors", LLAMA.tensors)
    found = local(tmp_path / "model.safetensors")
    assert {k: (v.dtype, v.shape) for k, v in found.listing.items()} == LLAMA.tensors


def split(path: Path) -> Path:
    """The shrunk llama in two shards with their index."""
    items = sorted(LLAMA.tensors.items())
    shards = {
        "model-00001-of-00002.safetensors": dict(items[:10]),
        "model-00002-of-00002.safetensors": dict(items[10:]),
    }
    for name, tensors in shards.items():
        write(path / name, tensors)
    weight_map = {t: name for name, tensors in shards.items() for t in tensors}
    (path / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 12345}, "weight_map": weight_map})
    )
    return path


def test_shards_are_read_through_their_index(tmp_path: Path) -> None:
    """Two shards are one listing; the index's own total is kept."""
    found = local(split(tmp_path))
    assert found.listing.keys() == LLAMA.tensors.keys()
    assert (len(found.files), found.total_bytes) == (2, 12345)


def test_a_shard_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Half a checkpoint is an error that names the file; an index without any shard gives names alone."""
    split(tmp_path)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(NotFound, match="model-00002-of-00002"):
        local(tmp_path)
    (tmp_path / "model-00001-of-00002.safetensors").unlink()
    assert {e.shape for e in local(tmp_path).listing.values()} == {None}


def test_an_index_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    """A shard's name with a path in it is refused."""
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../secret.safetensors"}}')
    with pytest.raises(Invalid, match="outside"):
        local(tmp_path)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "no possible length"),
        (struct.pack("<Q", 2**60) + b"{}", "no possible length"),
        (struct.pack("<Q", 100) + b"{}", "cut short"),
        (struct.pack("<Q", 2) + b"[]", "cannot be read"),
        (struct.pack("<Q", 4) + b"\xff\xfe{}", "cannot be read"),
        (
            struct.pack("<Q", 58) + b'{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}',
            "outside the file|cut short",
        ),
        (
            struct.pack("<Q", 56) + b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}} ' + bytes(16),
            "do not make|does|make",
        ),
        (
            struct.pack("<Q", 57) + b'{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}  ' + bytes(4),
            "outside the file",
        ),
    ],
)
def test_damage_is_refused_with_what_is_wrong(tmp_path: Path, raw: bytes, words: str) -> None:
    """Empty, absurdly long, cut short, not JSON, not text, offsets beyond the file, or bytes that no shape makes.

    An error, not a listing.
    """
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw)
    with pytest.raises(Invalid, match=words):
        read(path)


def test_the_length_of_a_header_is_bounded() -> None:
    """A hundred mebibytes and no more, as the format's own library has it."""
    assert length(struct.pack("<Q", 100 * 2**20), "x") == 100 * 2**20
    with pytest.raises(Invalid):
        length(struct.pack("<Q", 100 * 2**20 + 1), "x")


def test_a_tensor_in_two_files_is_an_error(tmp_path: Path) -> None:
    """Two files that hold the same tensor are no checkpoint."""
    for name in ("a.safetensors", "b.safetensors"):
        write(tmp_path / name, {"x": ("F32", (2,))})
    with pytest.raises(Invalid, match="stands in another file"):
        local(tmp_path)


def test_adapters_and_second_formats_are_left_alone(tmp_path: Path) -> None:
    """A folder with model.safetensors and a consolidated copy is read once."""
    folder(tmp_path, LLAMA.config, LLAMA.tensors)
    write(tmp_path / "consolidated.safetensors", LLAMA.tensors)
    assert local(tmp_path).files == ("model.safetensors",)


@pytest.fixture(autouse=True)
def _at_once() -> Iterator[None]:
    """Tries follow each other without a pause."""
    with stamina.set_testing(True, attempts=5):
        yield


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub with one real checkpoint in two shards and one of PyTorch's index alone."""
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "none"))
    config = json.dumps(LLAMA.config).encode()
    split(tmp_path)
    files = tuple((p.name, p.read_bytes()) for p in sorted(tmp_path.glob("model*")))
    siblings = [{"rfilename": name} for name, _ in (("config.json", b""), *files)]
    whole = Repo("org/Whole", config, files=files, facts=(("siblings", siblings),))
    raw = json.dumps(
        {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(LLAMA.tensors, "pytorch_model-1.bin")}
    ).encode()
    listed = [{"rfilename": n} for n in ("config.json", "pytorch_model.bin.index.json")]
    old = Repo("org/Old", config, files=(("pytorch_model.bin.index.json", raw),), facts=(("siblings", listed),))
    gated = Repo("org/Gated", config, gated="manual", files=files, facts=(("siblings", siblings),))
    with HubServer(Population(0, extra=(whole, old, gated))) as server:
        yield server


def test_headers_come_from_the_hub_by_range_at_one_commit(hub: HubServer) -> None:
    """Both shards' headers, each by one ranged request, all at the commit that the repository's page names."""
    found = remote.checkpoint("org/Whole", hub.endpoint)
    assert {k: (v.dtype, v.shape) for k, v in found.headers.listing.items()} == LLAMA.tensors
    asked = [r for r in hub.requests if ".safetensors" in r.target]
    assert [r.headers["range"] for r in asked] == ["bytes=0-99999"] * 2
    assert all(f"/resolve/{found.revision}/" in r.target for r in hub.requests if "/resolve/" in r.target)


def test_a_header_longer_than_the_first_request_takes_a_second(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a first request of 100 bytes every shard needs two."""
    monkeypatch.setattr(remote, "FIRST", 100)
    found = remote.checkpoint("org/Whole", hub.endpoint)
    assert found.headers.listing.keys() == LLAMA.tensors.keys()
    assert hub.count(r"-of-00002\.safetensors") == 4


def test_a_server_that_ignores_the_range_is_read_no_further_than_asked(hub: HubServer) -> None:
    """The whole file with status 200: the header is taken from its beginning."""
    body = dict(hub.population.extra[0].files)["model-00001-of-00002.safetensors"]
    hub.fail(r"model-00001", Reply(200, body + bytes(10**6)), times=None)
    assert remote.checkpoint("org/Whole", hub.endpoint).headers.listing.keys() == LLAMA.tensors.keys()


def test_an_index_of_pytorch_files_gives_names(hub: HubServer) -> None:
    """Without safetensors files the index is read, and no shape is known."""
    found = remote.checkpoint("org/Old", hub.endpoint).headers
    assert found.listing.keys() == LLAMA.tensors.keys()
    assert {e.shape for e in found.listing.values()} == {None}


def test_passing_failures_are_tried_again(hub: HubServer) -> None:
    """Two 503 and one 429 on the way to a header do no harm."""
    hub.fail(r"model-00001", Reply(503), times=2)
    hub.fail(r"model-00002", Reply(429), times=1)
    assert remote.checkpoint("org/Whole", hub.endpoint).headers.listing.keys() == LLAMA.tensors.keys()


def test_a_hub_that_keeps_failing_is_upstream(hub: HubServer) -> None:
    """Five times 503 is an error that says to try later, with exit code 4."""
    hub.fail(r"/api/models/", Reply(503), times=None)
    with pytest.raises(Upstream, match="503"):
        remote.checkpoint("org/Whole", hub.endpoint)
    assert hub.count(r"/api/models/") == 5


@pytest.mark.parametrize("repo_id", ["org/Nothing", "org/Gated", "no such name", "../etc"])
def test_what_is_not_there_is_not_found(hub: HubServer, repo_id: str) -> None:
    """An unknown repository, a gated one, and what is no name at all: exit code 8."""
    with pytest.raises(NotFound):
        remote.checkpoint(repo_id, hub.endpoint)


def test_nobody_listening_is_upstream() -> None:
    """A closed port is an upstream failure, not a crash."""
    with pytest.raises(Upstream):
        remote.checkpoint("org/Whole", "http://127.0.0.1:9")


BF16 = {"dtype": "BF16", "shape": [10, 8], "data_offsets": [0, 160]}


@pytest.mark.parametrize(
    ("tensors", "size", "said"),
    [
        ({"a": BF16, "b": BF16}, 160, "a and b lie on the same bytes"),
        ({"a": BF16, "b": {**BF16, "shape": [0], "data_offsets": [80, 80]}}, 160, "lie on the same bytes"),
        ({"a": {**BF16, "data_offsets": [2, 162]}}, 162, "2 bytes between the header and a belong to none"),
        ({"a": BF16, "b": {**BF16, "data_offsets": [164, 324]}}, 324, "4 bytes between a and b belong to none"),
        ({"a": BF16}, 161, "1 bytes behind the last tensor belong to none"),
        ({"a": {**BF16, "dtype": "Q4_K"}}, 160, "has the type 'Q4_K', which the format does not have"),
        ({"a": {**BF16, "shape": [10, 9]}}, 160, "has 160 bytes, which its type and shape do not make"),
        ({"__metadata__": {"n": 1}, "a": BF16}, 160, "its header cannot be read"),
    ],
)
def test_what_the_formats_own_library_refuses_is_damage(
    tmp_path: Path, tensors: dict[str, object], size: int, said: str
) -> None:
    """Tensors lie one behind the other from the first byte to the last, of types the format has: all else is damage."""
    with pytest.raises(Invalid, match=said):
        read(_written(tmp_path, json.dumps(tensors).encode(), size))


def test_a_name_given_twice_is_damage(tmp_path: Path) -> None:
    """Of two entries with one name a parser keeps the last, so the file would not be what was looked at."""
    one = json.dumps({"a": BF16}).encode()[1:-1]
    with pytest.raises(Invalid, match="a is given twice"):
        read(_written(tmp_path, b"{" + one + b"," + one + b"}", 160))


def test_an_empty_tensor_lies_between_two_others(tmp_path: Path) -> None:
    """A tensor without elements has no bytes, and its offsets are where the one before it ends."""
    empty = {"dtype": "BF16", "shape": [0], "data_offsets": [160, 160]}
    assert read(_written(tmp_path, json.dumps({"b": empty, "a": BF16}).encode(), 160)).keys() == {"a", "b"}


def _written(folder: Path, header: bytes, size: int) -> Path:
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    return path


def test_what_the_system_does_not_give_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index or a folder that may not be read (simulated: root may read all) is named, with the system's reason."""

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    split(tmp_path)
    for method in ("open", "iterdir"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, method, refuse)
            with pytest.raises(NotFound, match="Permission denied"):
                local(tmp_path)
        (tmp_path / "model.safetensors.index.json").unlink(missing_ok=True)
