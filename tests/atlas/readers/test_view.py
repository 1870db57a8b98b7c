"""A part sees a config under its own names, with its own facts, and with what the layout says of its layer."""

from __future__ import annotations

import pytest

from atlas.families.rules import Spec
from atlas.interpret import reader
from atlas.layouts.words import Heads, Wide
from atlas.readers.view import View, may_say, said, seen_by

CONFIG = {"model_type": "mistral", "sliding_window": 7, "hidden_size": 64}


def test_a_field_under_another_name_is_read_there() -> None:
    """A windowed part asks for `window` and is answered by `sliding_window`; a fact of its own goes before all."""
    spec = Spec("gqa", {"window": "sliding_window"}, {"mixer": "sliding_attention"})
    seen = seen_by(reader(CONFIG), spec, "sliding_attention")
    assert (seen.count("window"), seen.word("mixer")) == (7, "sliding_attention")


def test_a_part_without_names_of_its_own_sees_the_config_itself() -> None:
    """No view is made where it would say nothing."""
    c = reader(CONFIG)
    assert seen_by(c, Spec("gqa"), "full_attention") is c


def test_a_part_takes_the_record_that_it_knows() -> None:
    """A part that needs a width is handed it, and says so where the row joins it to another layout."""
    c = reader(CONFIG)
    assert said(View(c, Spec("mlp"), Wide("mlp", 9)), Wide).width == 9
    assert may_say(c, Heads) is None
    with pytest.raises(TypeError, match="a layout that says Wide"):
        said(View(c, Spec("mlp"), "mlp"), Wide)
