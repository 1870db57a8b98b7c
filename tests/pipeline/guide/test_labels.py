"""Names of points: beside their point, inside the plot, apart from each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.guide import labels
from pipeline.guide.labels import Box, Plot

PLOT = Plot(384, 280)


def placed(*points: tuple[float, float, str | None]) -> list[str]:
    """The places of points given as x, y and name."""
    rows = [{"x": x, "y": y, "n": name} for x, y, name in points]
    return [r["place"] for r in labels.labelled(rows, ("x", "y"), "n", PLOT)]


def test_a_name_stands_on_the_side_that_has_room() -> None:
    """Left of the middle it begins at the point, right of it it ends there."""
    assert placed((1e8, 4096, "small"), (9e12, 9e6, "large")) == ["left-11", "right-11"]


def test_two_names_of_one_place_are_set_apart() -> None:
    """The second of two points on one spot is named on its other side."""
    corners = ((1e8, 1.0, None), (9e12, 1e6, None))
    assert placed((1e9, 1e3, "one"), (1e9, 1e3, "two"), *corners) == ["left-11", "right-11", "", ""]


def test_a_point_without_a_name_has_no_place() -> None:
    """Only named points are marked."""
    assert placed((1e9, 10.0, None), (1e10, 20.0, None)) == ["", ""]


def test_no_name_covers_a_point_or_another_name() -> None:
    """Forty points on a line, every fifth named: by geometry, each name's room is free of all points."""
    rows = [{"x": 1e9 * 1.12**i, "y": 1e3 * 1.09**i, "n": f"model-{i}" if i % 5 == 0 else None} for i in range(40)]
    said = labels.labelled(rows, ("x", "y"), "n", PLOT)
    rooms = []
    for row in (r for r in said if r["place"]):
        across, down = labels.centre(said, ("x", "y"), row, PLOT)
        rooms.append(labels._boxes(across, down, row["n"], PLOT)[row["place"]])
    assert len(rooms) >= 6
    everything = list(labels.points(said, ("x", "y"), PLOT))
    assert not any(room.meets(point) for room in rooms for point in everything)
    assert not any(a.meets(b) for i, a in enumerate(rooms) for b in rooms[i + 1 :])


@given(st.tuples(*[st.floats(0, 100)] * 4), st.tuples(*[st.floats(0, 100)] * 4))
def test_meeting_is_mutual(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    """If one name lies on another, the other lies on the first."""
    assert Box(*a).meets(Box(*b)) == Box(*b).meets(Box(*a))
