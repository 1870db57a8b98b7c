"""The refresh as Prefect flows on a schedule.

Only this room imports Prefect; deleting it would lose no knowledge.
"""

__all__ = ["schedule"]
