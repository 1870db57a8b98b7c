"""Where questions are put to the atlas: what a MODEL is, by any name, and a reader's SQL on a snapshot.

SQL runs in a child process with limits; its answers come in several formats.
"""

__all__ = ["drafts", "examples", "formats", "found", "handed", "names", "query", "resolver", "whatif"]
