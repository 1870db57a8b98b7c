"""Everything of the atlas that touches the world: crawl, archive, snapshots, queries, pages, commands."""

__version__ = "0.2.0"

CLIENT = {"library_name": "llm-architecture-atlas", "library_version": __version__}
"""Who the Hub is told is asking."""
