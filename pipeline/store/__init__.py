"""The snapshot file: built beside its place, judged from the finished file, entered in the index, compared.

Other rooms publish through `snapshot` and find files through `shelf`.
"""

__all__ = [
    "build", "cite", "columns", "diff", "prune", "shelf", "sightings", "snapshot", "staged", "trusted", "validate",
    "versions",
]  # fmt: skip
