"""The atlas of language-model architectures: config in, exact architecture with evidence out."""
