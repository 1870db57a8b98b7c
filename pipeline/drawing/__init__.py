"""Architectures as SVG, drawn from the exact structure: a drawing holds what the structure says and nothing else.

`picture` draws a model, `legend` its signs, `curve` a cache over context; `colours` says what each colour keeps.
"""

__all__ = ["colours", "curve", "legend", "phrases", "picture"]
