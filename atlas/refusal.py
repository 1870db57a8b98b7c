"""Why a config gives no numbers: one exception, with a kind from the vocabulary and a sentence."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.vocabulary import RefusalKind


class Refused(Exception):
    """The config cannot be derived; `kind` is a word of the vocabulary and `reason` a sentence for people."""

    def __init__(self, kind: RefusalKind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class Unknown(Refused):
    """A value the family needs is neither in the config nor a default of its class."""

    def __init__(self, field: str, tried: Iterable[str]) -> None:
        keys = ", ".join(tried)
        super().__init__(
            RefusalKind.MISSING_KEY, f"{field} is needed and not known: no value under {keys}, and no class default"
        )


def bad_value(field: str, value: object, wanted: str) -> Refused:
    """A key holds something it cannot hold."""
    return Refused(RefusalKind.BAD_VALUE, f"{field} is {shown(value)}, but must be {wanted}")


def contradiction(reason: str) -> Refused:
    """Two keys cannot both be true."""
    return Refused(RefusalKind.CONTRADICTION, reason)


def not_derivable(reason: str) -> Refused:
    """The config does not say what would have to be known."""
    return Refused(RefusalKind.NOT_DERIVABLE, reason)


def shown(value: object, most: int = 60) -> str:
    """A hostile value in a sentence: quoted, escaped, cut."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    text = ascii(value) if not isinstance(value, dict | list) else f"a {type(value).__name__} of {len(value)}"  # pyright: ignore[reportUnknownArgumentType]
    return text if len(text) <= most else text[: most - 3] + "..."
