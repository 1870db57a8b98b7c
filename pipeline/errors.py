"""One exception per exit code, so that a command ends with a sentence and the right number."""

from __future__ import annotations


class AtlasError(Exception):
    """Something a user can act on: the message says what is wrong, where, and what to do next."""

    exit_code = 1


class Usage(AtlasError):
    """The command was asked for something it cannot do."""

    exit_code = 2


class Invalid(AtlasError):
    """Validation failed: nothing was published, or the guide is stale."""

    exit_code = 3


class Upstream(AtlasError):
    """The Hub is unavailable or the quota is spent; running again resumes."""

    exit_code = 4


class Busy(AtlasError):
    """Another refresh is running."""

    exit_code = 5


class Corrupt(AtlasError):
    """A snapshot is damaged."""

    exit_code = 6


class QueryRefused(AtlasError):
    """A query was refused or ran out of time."""

    exit_code = 7


class NotFound(AtlasError):
    """No such model or snapshot."""

    exit_code = 8


class Ambiguous(NotFound):
    """A name that several models bear."""
