"""What a rule gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atlas.reading.config import Config

Found = tuple[Any, str] | None
"""A value and why it holds, in words; nothing where what is stated stands."""
Rule = Callable[[Config], Found]
