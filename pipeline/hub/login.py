"""The reader's token for the Hub: from the environment (HF_TOKEN) or the huggingface_hub login, never from an option.

It is fetched where a request needs it and handed on as an argument: it is in no record, no flow parameter and no file.
"""

from __future__ import annotations


def token() -> str | None:
    """The token, or None for an anonymous reader."""
    from huggingface_hub import get_token

    return get_token()
