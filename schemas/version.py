"""The version of the contract. Additions are minor; renaming or redefining a column is major. Each has a line here."""

from __future__ import annotations

SCHEMA_VERSION = "1.0.0"

SCHEMA_CHANGES: tuple[tuple[str, str], ...] = (("1.0.0", "First published tables, views and macros."),)
"""(version, what changed for a reader), newest first."""
