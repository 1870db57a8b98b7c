"""The guide: page sources bound to queries, charts, and the pages written from one snapshot.

`render` builds it, `site` writes it as HTML.
"""

__all__ = ["render", "site"]
