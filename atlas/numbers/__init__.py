"""The structure of a model and every number folded from it.

Nothing here knows a config, a family or a file.
"""
