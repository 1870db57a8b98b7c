"""Measuring: two experiments that run here, and a door for the benchmarks of engines; each number with its machine.

Only this room runs modules, and only on demand: torch and tokenizers are an extra, imported by the run itself.
"""

__all__ = ["importing", "running"]
