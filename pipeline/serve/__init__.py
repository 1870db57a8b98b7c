"""Serving: what fits on which GPUs, and what the engines will say: arithmetic over a derived structure."""
