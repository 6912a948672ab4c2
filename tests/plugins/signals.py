"""Ctrl-C for the tests and all that they start, also where a shell runs them in its background.

Such a shell has its jobs ignore SIGINT, and children inherit that: what a test interrupts would not notice.
"""

import signal


def pytest_configure() -> None:
    """Take SIGINT as Python does in the foreground. A child gets the system's default then."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
