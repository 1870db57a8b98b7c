"""A Python session on a snapshot: tables as polars frames, models with all that their sheets have, SQL.

`atlas.open` leads here; errors are those of the command line, typed.
"""

__all__: list[str] = []
