"""Fields that a family derives from other keys: one function for each rule, which a row names under `[derive]`.

They are answered before anything else is asked, so that layouts and readers find a field as if the config stated it.
"""

from __future__ import annotations

from atlas.reading.config import Config
from atlas.reading.derivations import attention, norms, widths
from atlas.reading.derivations.rule import Rule

DERIVATIONS: dict[str, Rule] = {**attention.RULES, **norms.RULES, **widths.RULES}


def settle(c: Config) -> Config:
    """The config, with what its row derives answered. Raises `Refused`."""
    for field, rule in c.rules.derive.items():
        found = DERIVATIONS[rule](c)
        if found is not None:
            c.derived(field, *found)
    return c
