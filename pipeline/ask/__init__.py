"""A reader's SQL on a snapshot, in a child process with limits, and the formats of its answer.

Names of models are found here too.
"""

__all__ = ["drafts", "examples", "formats", "names", "query"]
