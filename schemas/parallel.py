"""Rules across the columns of parallel serving: what a rank holds lies between its even share and the whole.

Each is a sentence and the condition, in SQL over `designs`, of a row that breaks it.
"""

from __future__ import annotations

from collections.abc import Iterator

DEGREES = (2, 4, 8, 16)
BATCHES = (8, 64, 256)

_ALONE = "params_active_max IS NULL AND n_routed_experts > 0"
"""Designs whose routers have no empty choice, so that the touched experts follow from two columns."""


def broken() -> Iterator[tuple[str, str]]:
    """Every rule: what holds, and where it does not."""
    for t in DEGREES:
        yield from _shares(f"params_rank_tp{t}", "params_total", t)
        yield from _shares(f"kv_bytes_per_token_rank_tp{t}", "kv_bytes_per_token", t)
        yield (
            f"params_rank_tp{t} is null where the degree is uneven or unknown, and only there",
            f"(params_rank_tp{t} IS NULL) <> coalesce(regexp_matches(tp_degrees['{t}'], '^(uneven|unknown)'), true)",
        )
        yield (
            f"kv_bytes_per_token_rank_tp{t} is null where the degree is uneven or nothing is kept, and only there",
            (
                f"(kv_bytes_per_token_rank_tp{t} IS NULL) <> (kv_bytes_per_token IS NULL"
                f" OR coalesce(starts_with(tp_degrees['{t}'], 'uneven'), true))"
            ),
        )
    yield from _experts()


def _shares(column: str, whole: str, t: int) -> Iterator[tuple[str, str]]:
    yield (
        f"{column} is at least {whole} / {t} and at most {whole}",
        (f"{column} * {t} < {whole} - 1e-6 OR {column} > {whole} + 1e-6"),
    )


def _experts() -> Iterator[tuple[str, str]]:
    for b in BATCHES:
        yield (
            f"experts_touched_b{b} is n (1 - (1 - k/n)^{b}) where no choice is empty",
            (
                f"{_ALONE} AND abs(experts_touched_b{b} - n_routed_experts"
                f" * (1 - power(1 - experts_per_token / n_routed_experts, {b}))) > 1e-6 * n_routed_experts"
            ),
        )
    yield (
        "a step over more sequences reads no fewer weights, and no less than one token multiplies by",
        (
            "NOT (2 * params_active_compute - 2 <= decode_weight_bytes_b8 AND decode_weight_bytes_b8 <="
            " decode_weight_bytes_b64 AND decode_weight_bytes_b64 <= decode_weight_bytes_b256)"
        ),
    )
    yield (
        "without routed experts every step reads the same weights",
        "is_moe = false AND decode_weight_bytes_b256 <> 2 * params_active_compute",
    )
