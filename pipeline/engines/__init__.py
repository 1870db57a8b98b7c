"""Engines: what vLLM, llama.cpp, SGLang and TensorRT-LLM make of a model's cache, by dated rules with their sources.

Pure arithmetic over a derived structure; what only a running engine knows is an input.
"""

__all__ = ["agreement", "geometry", "named", "predicting", "record", "types"]
