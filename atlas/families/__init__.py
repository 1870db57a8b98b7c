"""Families: one TOML file per model_type, the records a row is made of (`rules`), and what reads them (`loader`).

Touch a row to change what is known of a family; a row holds values and names, and never a condition.
"""

from atlas.families.loader import BESIDE, COMMON_NAMES, IRRELEVANT, available, family, known, row
from atlas.families.rules import Correction, Family, Mtp, Spec, Wrapped

__all__ = [
    "BESIDE",
    "COMMON_NAMES",
    "IRRELEVANT",
    "Correction",
    "Family",
    "Mtp",
    "Spec",
    "Wrapped",
    "available",
    "family",
    "known",
    "row",
]
