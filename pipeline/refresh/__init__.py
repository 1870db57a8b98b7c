"""The refresh: what a source holds, its tables, a published snapshot, the guide made from it.

`steps` is what commands and flows call.
"""

__all__ = ["batches", "cited", "headers", "holding", "records", "rederive", "reporting", "steps", "unchanged"]
