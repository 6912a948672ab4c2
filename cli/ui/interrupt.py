"""Ctrl-C in long work: the piece at hand is finished, and what was done is said."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""What shells give when a program was stopped by Ctrl-C: 128 and the signal's number."""


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """What Ctrl-C sets. A second one ends the command at once, which is safe too."""
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
