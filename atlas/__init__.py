"""The atlas of language-model architectures: config in, exact architecture with evidence out."""

__version__ = "0.1.0"
