"""The four shapes of one budget, as published."""

from __future__ import annotations

from pipeline.measure.shapes import shapes


def test_the_shapes_are_the_published_ones() -> None:
    """Seed 004: widths, heads, KV heads, feed-forward widths and layers of its table, found by its rule again."""
    assert [s[1:] for s in shapes()] == [
        (768, 12, 6, 2048, 6),
        (640, 10, 5, 1728, 9),
        (512, 8, 4, 1344, 14),
        (384, 6, 3, 1024, 26),
    ]


def test_weights_by_hand() -> None:
    """8,192 x 768 + 6 x (2 x 768^2 x 3/2 + 3 x 768 x 2,048) = 45,219,840; the others: 46.2, 44.1, 45.3M."""
    first, *others = (s.matrices for s in shapes())
    assert first == 8_192 * 768 + 6 * (2 * 768**2 * 3 // 2 + 3 * 768 * 2_048) == 45_219_840
    assert [round(n / 1e6, 1) for n in others] == [46.2, 44.1, 45.3]


def test_cache_per_token() -> None:
    """9.0, 11.2, 14.0 and 19.5 KiB: 2 x layers x KV heads x 64 x 2 bytes."""
    assert [s.cache_bytes_per_token() / 1024 for s in shapes()] == [9.0, 11.25, 14.0, 19.5]
