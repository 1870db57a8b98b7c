"""What a word says of the Hub: addresses as people copy them, and those that are no model's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.ask.addresses import Named, meant
from pipeline.ask.found import Asking
from pipeline.ask.resolver import resolve
from pipeline.cli import main
from pipeline.errors import NotFound

HUB = "https://huggingface.co"
QWEN = Named("Qwen/Qwen3-8B", None)
SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("Qwen/Qwen3-8B", QWEN),
        (" Qwen/Qwen3-8B/ ", QWEN),
        ("Qwen/Qwen3-8B@v1.0", Named("Qwen/Qwen3-8B", "v1.0")),
        ("Qwen/Qwen3-8B@refs/pr/4", Named("Qwen/Qwen3-8B", "refs/pr/4")),
        ("Qwen/Qwen3-8B@main", Named("Qwen/Qwen3-8B", "main")),
        ("Qwen/Qwen3-8B/tree/v2", Named("Qwen/Qwen3-8B", "v2")),
        (f"{HUB}/Qwen/Qwen3-8B", QWEN),
        (f"{HUB}/Qwen/Qwen3-8B/", QWEN),
        (f"{HUB}:443/Qwen/Qwen3-8B?library=vllm#files", QWEN),
        ("HTTPS://HuggingFace.co/Qwen/Qwen3-8B", QWEN),
        ("huggingface.co/Qwen/Qwen3-8B", QWEN),
        ("hf.co/Qwen/Qwen3-8B@abc", Named("Qwen/Qwen3-8B", "abc")),
        (f"{HUB}/Qwen/Qwen3-8B.git", QWEN),
        ("git@hf.co:Qwen/Qwen3-8B.git", QWEN),
        ("hf://Qwen/Qwen3-8B", QWEN),
        (f"hf://models/Qwen/Qwen3-8B@{SHA}/config.json", Named("Qwen/Qwen3-8B", SHA)),
        (f"{HUB}/Qwen/Qwen3-8B/tree/main", QWEN),
        (f"{HUB}/Qwen/Qwen3-8B/blob/main/config.json", QWEN),
        (f"{HUB}/Qwen/Qwen3-8B/resolve/{SHA}/model.safetensors", Named("Qwen/Qwen3-8B", SHA)),
        (f"{HUB}/Qwen/Qwen3-8B/commit/{SHA}", Named("Qwen/Qwen3-8B", SHA)),
        (f"{HUB}/Qwen/Qwen3-8B/tree/refs%2Fpr%2F1", Named("Qwen/Qwen3-8B", "refs/pr/1")),
        (f"{HUB}/Qwen/Qwen3-8B/blob/refs/pr/1/config.json", Named("Qwen/Qwen3-8B", "refs/pr/1")),
        (f"{HUB}/Qwen/Qwen3-8B/discussions/4", QWEN),
        (f"{HUB}/gpt2", "gpt2"),
        ("llama 3.1 8b", "llama 3.1 8b"),
        ("a/b/c", "a/b/c"),
    ],
)
def test_what_a_word_names(word: str, named: Named | str) -> None:
    """Addresses of a browser, of git and of the Hub's library name the repository, with its revision where they say."""
    assert meant(word) == named


@pytest.mark.parametrize(
    ("word", "says"),
    [
        (f"{HUB}/datasets/org/x", "is a data set on the Hub and no model"),
        ("datasets/squad", "is a data set"),
        ("hf://datasets/org/x", "is a data set"),
        (f"{HUB}/spaces/org/x", "is a space"),
        (f"{HUB}/papers/2401.00001", "is a paper"),
        (f"{HUB}/collections/Qwen/qwen3-1", "is a collection"),
        (f"{HUB}/docs/transformers/index", "is documentation"),
        (f"{HUB}/api/models/Qwen/Qwen3-8B", "is the Hub's interface"),
        (f"{HUB}/", "names no model of the Hub"),
        (f"{HUB}/Qwen/..%2f..%2fapi", "names no model of the Hub"),
        (f"{HUB}/%00/x", r"names no model of the Hub"),
        (f"{HUB}/Qwen/Qwen3-8B/resolve/main/sub/config.json", "leads into a folder"),
        (f"{HUB}/Qwen/x-GGUF/blob/main/x-q4.gguf", "is one GGUF of a repository"),
        ("https://example.com/Qwen/Qwen3-8B", "is no address of the Hub"),
        (f"{HUB}.example.com/Qwen/Qwen3-8B", "is no address of the Hub"),
        ("https://huggingface.co@example.com/Qwen/Qwen3-8B", "is no address of the Hub"),
        ("https://[::1/Qwen/x", "is no address of the Hub"),
        ("https://huggingface.co:x/Qwen/x", "is no address of the Hub"),
        ("ftp://huggingface.co/Qwen/Qwen3-8B", "is no address of the Hub"),
        ("file:///etc/passwd", "is no address of the Hub"),
        ("Qwen/Qwen3-8B@", "names no revision"),
        ("Qwen/Qwen3-8B@../../x", "names no revision"),
        ("Qwen/Qwen3-8B@/etc/passwd", "names no revision"),
        ("Qwen/Qwen3-8B@a b", "names no revision"),
        ("Qwen/Qwen3-8B@\x1b[31m", "names no revision"),
        ("Qwen/Qwen3-8B@refs/heads/", "names no revision"),
    ],
)
def test_what_is_no_model_is_said_to_be_what_it_is(
    word: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 8 and a sentence; never the model whose name stands in the address, and no character is obeyed."""
    assert main(["show", word, "--offline", "--home", str(tmp_path)]) == 8
    out, err = capsys.readouterr()
    assert (out, "\x1b" in err) == ("", False)
    assert says in err


def test_a_password_in_an_address_is_not_repeated() -> None:
    """What stands before the @ of a host is left out of the sentence."""
    with pytest.raises(NotFound) as caught:
        meant("https://user:geheim@example.com/a/b")
    assert "geheim" not in str(caught.value)


def test_the_hub_that_is_asked_instead_has_addresses_too() -> None:
    """An address of --endpoint names its repositories, one of another port does not."""
    assert meant("http://127.0.0.1:8080/org/x", "http://127.0.0.1:8080") == Named("org/x", None)
    with pytest.raises(NotFound):
        meant("http://127.0.0.1:8081/org/x", "http://127.0.0.1:8080")


PIECES = (
    *("https://", "huggingface.co", "hf://", "git@hf.co:", "/", "@", "Qwen", "Qwen3-8B", "..", "%2f", "datasets"),
    *("tree", "blob", "main", "refs", "config.json", ":", "[", "?", "#", " ", "\x1b", "\u202e", "\x00", "é"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
@settings(max_examples=200, deadline=None)
def test_any_word_has_an_answer_or_a_sentence(word: str) -> None:
    """Whatever the pieces: a model, or `NotFound` (8) in words; a name that is found is one that stands in the word."""
    try:
        found = meant(word)
    except NotFound:
        return
    if isinstance(found, Named):
        assert ".." not in found.repo_id + (found.revision or "")
        assert found.repo_id.count("/") == 1


def test_names_at_the_edge_of_the_atlas(tmp_path: Path) -> None:
    """Wide letters and typographic hyphens are copied from pages: the same model, under its own name."""
    asking = Asking(home=tmp_path, offline=True)
    for word in (
        "\uff31\uff57\uff45\uff4e\uff0f\uff31\uff57\uff45\uff4e3-8B",
        "Qwen/Qwen3\u20118B",
        "qwen/qwen3-8b",
        f"{HUB}/Qwen/Qwen3-8B#x",
    ):
        assert resolve(word, asking).name == "Qwen/Qwen3-8B"
