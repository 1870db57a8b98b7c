"""Work that asks for names is done once for the same answers."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.reading import answered
from atlas.reading.answered import Kept
from atlas.reading.arithmetic import Lookup
from atlas.refusal import Refused, contradiction


class Work:
    """Asks for `b` only where `a` is something, and counts how often it is done."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self, lookup: Lookup) -> tuple[Any, ...]:
        """What comes of `a`, and of `b` where it is asked for."""
        self.done += 1
        a = lookup("a")
        if a == "bad":
            raise contradiction("a is bad")
        return (a, lookup("b"), lookup("a")) if a else (a,)


def asked(kept: Kept[tuple[Any, ...]], **answers: Any) -> tuple[Any, ...]:
    """What comes of these answers."""
    return kept(answers.__getitem__)


def test_the_same_answers_give_what_they_gave() -> None:
    """What nobody asks for may differ; what leads another way is asked another question."""
    kept = Kept(work := Work())
    first = asked(kept, a=1, b=[2])
    assert first == (1, [2], 1)
    assert asked(kept, a=1, b=[2], c=9) is first
    assert asked(kept, a=0) == asked(kept, a=0, b=5) == (0,)
    assert asked(kept, a=1, b=[3]) == (1, [3], 1)
    assert work.done == 3


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), ("None", None), ([1], [True]), ("1", 1)])
def test_values_of_another_type_are_other_answers(one: Any, other: Any) -> None:
    """1 equals true in Python, and a config means two things by them."""
    kept = Kept(Work())
    for value in (one, other):
        found = asked(kept, a="x", b=value)[1]
        assert type(found) is type(value)
        assert repr(found) == repr(value)


def test_an_error_is_raised_every_time() -> None:
    """Nothing is kept of work that was refused."""
    kept = Kept(work := Work())
    for _ in range(2):
        with pytest.raises(Refused):
            asked(kept, a="bad")
    assert asked(kept, a=1, b=1) == (1, 1, 1)
    assert work.done == 3


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one result more than are kept all are let go, and the answers stay right."""
    monkeypatch.setattr(answered, "MOST", 3)
    kept = Kept(work := Work())
    for _ in range(2):
        assert [asked(kept, a=n, b=0)[0] for n in range(1, 6)] == [1, 2, 3, 4, 5]
    assert work.done > 5
