"""Architectures as SVG, drawn from the exact structure: a drawing holds what the structure says and nothing else.

`picture` draws a model, `legend` its signs, `curve` a cache over context.
"""

__all__ = ["curve", "legend", "picture"]
