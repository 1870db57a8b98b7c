"""How passes are timed, and what is made of their samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pipeline.measure.timing import Passes, interleaved, number, spread, timed


def ticking(*times: float) -> Callable[[], float]:
    """A clock that shows these times, one a look."""
    shown: Iterator[float] = iter(times)
    return lambda: next(shown)


def test_order_alternates_and_the_first_round_is_left_out() -> None:
    """Three rounds of a, b run as a b, b a, a b; the first, in which everything is cold, gives no sample."""
    ran: list[str] = []

    def work(name: str) -> Callable[[], Passes]:
        def once() -> Passes:
            ran.append(name)
            return Passes([float(len(ran))], [0.5])

        return once

    found = interleaved({"a": work("a"), "b": work("b")}, rounds=2, seconds=60)
    assert ran == ["a", "b", "b", "a", "a", "b"]
    assert found == {"a": Passes([4.0, 5.0], [0.5, 0.5]), "b": Passes([3.0, 6.0], [0.5, 0.5])}


def test_no_round_begins_when_the_time_is_spent() -> None:
    """The warm-up and one round always run; after 10 seconds of 5 that are allowed there is no further one."""
    found = interleaved({"a": lambda: Passes([1.0], [1.0])}, rounds=9, seconds=5, clock=ticking(0, 10))
    assert len(found["a"].wall) == 1


def test_a_pass_has_the_walls_time_and_the_processors() -> None:
    """From 1 to 3 seconds on the wall, of which the processor worked one: the rest was somebody else's."""
    took = timed(lambda: None, 2, clock=ticking(1, 3, 10, 14), busy=ticking(0, 1, 1, 3))
    assert took == Passes([2, 4], [1, 2])


def test_median_and_quartiles_by_hand() -> None:
    """Of 1, 2, 3, 4, 100 the median is 3 and the quartiles 2 and 4: one slow pass does not decide. Seconds as ms."""
    made = number("s", "q", [0.004, 0.1, 0.001, 0.003, 0.002], "ms", 1000)
    assert [round(x, 9) for x in (made.value, made.low or 0, made.high or 0)] == [3, 2, 4]
    assert made.samples == 5
    assert spread([7.0]) == (7.0, 7.0, 7.0, 1)
