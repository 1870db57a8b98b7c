"""Everything that speaks to the Hub: one session with limits and quotas, the listing, the crawl and its archive.

Only this room opens a connection, and only it sees the token.
"""

__all__ = ["archive", "attempts", "crawl", "download", "listing", "login", "reach", "records", "remote", "single"]
