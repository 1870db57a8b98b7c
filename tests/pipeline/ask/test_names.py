"""Loose names of models."""

from __future__ import annotations

import pytest

from pipeline.ask.names import resolve
from pipeline.errors import NotFound

IDS = [
    "meta-llama/Llama-3.1-8B",
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.1-70B",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-0.6B",
    "openai/gpt-oss-120b",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-V3",
    "copy/deepseek-v3",
]


@pytest.mark.parametrize(
    ("loose", "meant"),
    [
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
        ("META-LLAMA/llama-3.1-8b", "meta-llama/Llama-3.1-8B"),
        ("llama 3.1 8b", "meta-llama/Llama-3.1-8B"),
        ("llama3.1-8b", "meta-llama/Llama-3.1-8B"),
        ("8b instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("gpt oss 120B", "openai/gpt-oss-120b"),
        ("30b a3b", "Qwen/Qwen3-30B-A3B"),
        ("deepseek-ai deepseek v3", "deepseek-ai/DeepSeek-V3"),
    ],
)
def test_a_loose_name_finds_its_model(loose: str, meant: str) -> None:
    """Case, separators and the owner may be left out as long as one model is meant."""
    assert resolve(loose, IDS) == meant


@pytest.mark.parametrize("loose", ["gpt-oss", "deepseek v3", "qwen3"])
def test_an_ambiguous_name_is_listed(loose: str) -> None:
    """Nothing is guessed: the candidates are named and the exit code is 8."""
    with pytest.raises(NotFound, match=r"may be any of: .+, .+") as caught:
        resolve(loose, IDS)
    assert caught.value.exit_code == 8


def test_an_unknown_name_gets_a_hint() -> None:
    """A slip of the pen is answered with what comes close."""
    with pytest.raises(NotFound, match="gpt-oss-120b"):
        resolve("gpt-os-120b", IDS)


def test_a_word_that_is_misspelled_is_answered_with_its_names() -> None:
    """`lama` is nearest to the word llama: what is called so is named."""
    with pytest.raises(NotFound, match=r"close to it: meta-llama/Llama-3\.1-70B, meta-llama/Llama-3\.1-8B"):
        resolve("lama", IDS)


@pytest.mark.parametrize("nonsense", ["", "///", "\x1b[2J", "zzzz"])
def test_nonsense_is_not_found(nonsense: str) -> None:
    """Nonsense finds nothing, and is shown without being obeyed."""
    with pytest.raises(NotFound) as caught:
        resolve(nonsense, IDS)
    assert "\x1b" not in str(caught.value)
