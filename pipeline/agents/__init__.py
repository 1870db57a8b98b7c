"""Answers for agents: short, each with units, verdict, snapshot and source; strangers' text fenced as data.

The functions are plain; `server` hands them out over the Model Context Protocol.
"""

__all__ = ["server"]
