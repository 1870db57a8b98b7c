"""The field's figures beside ours, as they ship: cards of the gallery, and totals of the public catalogue."""

from __future__ import annotations

from pipeline.sources import news

BAR = 0.95
"""Share of the cards with a config at hand that must be equal or explained."""


def test_every_card_that_differs_says_why() -> None:
    """A card is equal, or different or refused with a reason; at least 95 % of those with a config are so."""
    cards = news.table().cards
    explained = [c for c in cards if c.outcome == "equal" or c.why]
    assert len(explained) >= BAR * len(cards)
    assert len(cards) >= 42
    assert {c.outcome for c in cards} <= {"equal", "different", "refused"}


def test_the_gallery_states_twice_the_cache_of_a_file_that_counts_pairs() -> None:
    """LongCat-Flash-Lite has 14 layers of two latent attentions: 28 x 576 x 2 bytes are 31.5 KiB, the card says 63."""
    card = next(c for c in news.table().cards if c.card.startswith("LongCat"))
    assert (card.theirs, card.outcome) == ("63 KiB", "different")
    assert 2 * 28 * 576 * 2 == 63 * 1024


def test_formulas_add_up_to_the_rows_they_give() -> None:
    """Each row of the catalogue is given by one formula at most, and the counts add up."""
    totals = news.table().totals
    assert sum(totals.formulas.values()) == totals.equal_by_a_formula <= totals.rows
    assert {m["unit"] for m in news.measurements()} == {"cards", "repositories", "share"}


def test_what_is_no_language_model_is_counted_apart() -> None:
    """A row exists for 88 % of all repositories and 96 % of their downloads; encoders of sound are no part of that."""
    totals = news.table().totals
    others = sum(totals.rows_of_other_kinds.values())
    assert totals.rows_of_other_kinds["an encoder of sound"] > 0
    assert totals.rows_with_a_family >= 0.88 * totals.rows
    assert totals.downloads_with_a_family >= 0.96
    counted = {m["quantity"]: m["value"] for m in news.measurements() if m["quantity"].startswith("no language model")}
    assert sum(counted.values()) == others
