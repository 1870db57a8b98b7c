"""The experiment on vocabularies: characters per token of byte-pair vocabularies, on text they were not trained on.

The text is the source of Python's standard library as installed, its tests left out: every machine that runs this has
one, and the digest says whether it is the same. Every tenth file is held out.
"""

from __future__ import annotations

import hashlib
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.sources.measured import Number

EXPERIMENT = "vocabularies"
SIZES = (8_192, 16_384, 32_768, 65_536)
FREQUENCY = 2
HELD_OUT = 10
ASKED, REACHED = "vocabulary asked for", "vocabulary"
TRAINED, HELD = "text per token, trained on", "text per token, held out"
_LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}


class Corpus(NamedTuple):
    """Texts to train on and texts held out, with a digest of both."""

    train: tuple[str, ...]
    held: tuple[str, ...]
    digest: str

    @property
    def says(self) -> str:
        """What it is, for the conditions."""
        sizes = f"{_characters(self.train):,} characters of {len(self.train):,} files, every {HELD_OUT}th held out"
        return f"source of Python's standard library without its tests, {sizes}, SHA-256 {self.digest[:16]}"


def _characters(texts: tuple[str, ...]) -> int:
    return sum(map(len, texts))


def corpus(root: Path | None = None) -> Corpus:
    """The files below a folder (Python's standard library), in the order of their paths."""
    texts = list(_texts(root or Path(sysconfig.get_paths()["stdlib"])))
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    held = texts[HELD_OUT - 1 :: HELD_OUT]
    return Corpus(tuple(t for i, t in enumerate(texts, 1) if i % HELD_OUT), tuple(held), digest)


def _texts(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*.py")):
        if _LEFT_OUT.isdisjoint(path.relative_to(root).parts[:-1]):
            try:
                yield path.read_text("utf-8")
            except UnicodeDecodeError:  # a few files of the library show other encodings
                continue


def trained(tokenizers: Any, texts: tuple[str, ...], size: int) -> Any:
    """A byte-level BPE of at most `size` tokens; a merge must occur at least twice."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=FREQUENCY,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    return made


def measured(tokenizers: Any, text: Corpus, sizes: tuple[int, ...] = SIZES) -> list[Number]:
    """For each size: tokens asked for and reached, characters per token on both parts of the text."""
    found = [
        Number("text", "size, trained on", _characters(text.train), "characters"),
        Number("text", "size, held out", _characters(text.held), "characters"),
    ]
    for size in sizes:
        made, subject = trained(tokenizers, text.train, size), f"BPE of {size:,}"
        found += [
            Number(subject, ASKED, size, "tokens"),
            Number(subject, REACHED, made.get_vocab_size(), "tokens"),
            Number(subject, TRAINED, _per_token(made, text.train), "characters per token"),
            Number(subject, HELD, _per_token(made, text.held), "characters per token"),
        ]
    return found


def _per_token(made: Any, texts: tuple[str, ...]) -> float:
    return _characters(texts) / sum(len(each.ids) for each in made.encode_batch_fast(list(texts)))
