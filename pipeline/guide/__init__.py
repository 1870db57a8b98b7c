"""The guide: page sources bound to queries, charts, and the pages written from one snapshot.

`render` builds it.
"""

__all__ = ["render"]
