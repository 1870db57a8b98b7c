"""Configs that can be read in two ways, where a total of the Hub says which: their rows are made again by that reading.

A text is one row whoever has it: where repositories with one text have totals that speak for different readings, it
stays as it was read, and the checks say which totals are off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import polars as pl

from atlas import proof
from atlas.derived import Derived
from atlas.interpret import derive
from pipeline.store.staged import Staged
from schemas.tables import quoted

OfTexts = Callable[[Iterable[bytes], Mapping[bytes, Derived]], Mapping[str, pl.DataFrame]]
MANY = 500
"""Texts that are tabulated once more at a time."""
_KEYS = {"configs": "config_id", "constants": "config_id", "features": "config_id", "stored": "subject"}
_OF_DESIGNS = ("layers", "parameters", "states")


def decide(staged: Staged, of_texts: OfTexts, stated: Mapping[str, int]) -> bool:
    """Let the rows of such configs be those of the reading that a total proves; whether there was any.

    `of_texts` makes tables of texts and of what was derived of them; `stated` are published totals by config_id.
    """
    with staged.open() as con:
        found = con.execute(_twofold(staged, stated))
        while rows := found.fetchmany(MANY):
            chosen = dict(each for raw, total in rows for each in _chosen(raw.encode(), total))
            if chosen:
                made = of_texts(chosen, chosen)
                for name in (*_KEYS, "designs", *_OF_DESIGNS):
                    staged.add(_other(name), made[name])
    if not staged.has(_other("configs")):
        return False
    _replace(staged)
    return True


def _other(name: str) -> str:
    return f"other_{name}"


def _replace(staged: Staged) -> None:
    """The rows of these texts in place of those they had, and the designs that are new."""
    configs = f"(SELECT config_id FROM {staged.given(_other('configs'))})"
    for name, key in _KEYS.items():
        old = f"SELECT * FROM {staged.table(name)} WHERE {key} NOT IN {configs}"
        staged.decide(name, f"{old} UNION ALL FROM {staged.given(_other(name))}")
    have = f"(SELECT design_id FROM {staged.table('designs')})"
    for name in _OF_DESIGNS:
        new = f"SELECT DISTINCT * FROM {staged.given(_other(name))} WHERE design_id NOT IN {have}"
        staged.decide(name, f"FROM {staged.table(name)} UNION ALL ({new})")
    staged.decide("designs", f"FROM {staged.table('designs')} UNION ALL FROM {staged.given(_other('designs'))}")


def _chosen(raw: bytes, total: int) -> list[tuple[bytes, Derived]]:
    before = derive(raw)
    after = proof.decided(before, total)
    return [] if after is before else [(raw, after)]


def _twofold(staged: Staged, stated: Mapping[str, int]) -> str:
    """Configs that may have another reading, with the one total stated of them.

    The tie's evidence names two levels or a head of its own, or one wide layer is doubted.
    """
    known = [f"SELECT config_id, hub_params_total AS total FROM {staged.table('models')}"]
    known += [f"SELECT {quoted(config_id)}, {total}" for config_id, total in stated.items()]
    once = (
        f"SELECT config_id, any_value(total) AS total FROM ({' UNION ALL '.join(known)})"
        " WHERE total IS NOT NULL AND config_id IS NOT NULL GROUP BY config_id HAVING count(DISTINCT total) = 1"
    )
    two = "contains(e.source, 'the wrapper states none') OR contains(e.source, 'own class takes')"
    two += " OR contains(e.source, 'with another head is not tied')"
    return (
        f"SELECT raw, total FROM {staged.table('configs')} JOIN ({once}) USING (config_id) WHERE raw IS NOT NULL"
        f" AND (len(list_filter(evidence, lambda e: {two})) > 0 OR contains(doubt, 'EAGLE'))"
    )
