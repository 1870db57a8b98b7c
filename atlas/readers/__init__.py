"""Readers: from a config to the scalars of builders in `atlas.parts`."""
