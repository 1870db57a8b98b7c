"""Everything of the atlas that touches the world: crawl, archive, snapshots, queries, pages, commands."""

__version__ = "0.2.0"

PROJECT = "llm-architecture-atlas"
"""Who the Hub is told is asking, with the version."""
