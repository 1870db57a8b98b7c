"""The atlas as a static site: a sheet with a drawing for every design, a table, compare, the guide, data for programs.

`build` makes it from one snapshot, `served` shows it on this machine. No page needs a server, and no request leaves it.
"""

__all__ = ["build", "served"]
