"""Ctrl-C for the tests and their child processes, also when a shell runs the tests in the background.

Such a shell makes its jobs ignore SIGINT, and children inherit that: a test could not interrupt them.
"""

import signal


def pytest_configure() -> None:
    """Handle SIGINT as Python does in the foreground. Children then get the system's default."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
