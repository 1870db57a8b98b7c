"""What a terminal shows of a model: the sheet, its layer strip, models side by side, what works here.

Values come in finished; nothing here is computed twice.
"""

__all__ = [
    "changes",
    "compare",
    "compared",
    "doctor",
    "facts",
    "inspect",
    "lines",
    "progress",
    "schema",
    "screen",
    "sheet",
    "show",
    "stored",
    "verdicts",
    "verified",
    "widths",
]
