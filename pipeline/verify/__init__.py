"""Derived tensors held against the headers of a checkpoint, and the report of it."""

__all__ = ["verification"]
