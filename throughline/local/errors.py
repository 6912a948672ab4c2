"""The error of the local world."""

from shared.errors import ThroughlineError


class LocalError(ThroughlineError):
    """A part of the local world can't be installed or started; the message says why, and what to do."""
