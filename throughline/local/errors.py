"""The error of the local world."""


class LocalError(Exception):
    """A part of the local world can't be installed or started; the message says why, and what to do."""
