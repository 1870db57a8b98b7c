"""Serving: what fits on which GPUs, and what an engine will say; pure arithmetic over a derived structure.

`ranks` and `experts` of `atlas.numbers` say what one GPU holds; here are weights, types, GPUs, the engines' rules with
their sources, and predictions of start-up logs.
"""

__all__ = ["asking", "fit", "gpus", "subject"]
