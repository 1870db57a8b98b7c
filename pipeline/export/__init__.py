"""A snapshot for other tools: Parquet files, a dataset folder of the Hub with its card.

Nothing leaves the machine unless `upload` is asked for by name.
"""

__all__ = ["parquet", "upload"]
