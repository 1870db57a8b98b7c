"""Where configs come from that need no network: files on disk, headers of weight files, the embedded catalogue.

A source gives bytes and facts; it derives nothing.
"""

__all__ = ["beside", "catalogue", "changed", "disk", "gguf", "headers", "measured", "news", "peers"]
