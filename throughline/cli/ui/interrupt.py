"""Ctrl-C in long work: the current piece is finished, then the command reports what was done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import typer

from throughline.cli.ui.console import note

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 plus the number of the signal, as shells report it."""


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets. A second Ctrl-C ends the command at once, which is safe too."""
    stop_request = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if stop_request.is_set():
            signal.default_int_handler(number, frame)
        stop_request.set()

    previous_handler = signal.signal(signal.SIGINT, ask)
    try:
        yield stop_request
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def end_stopped(sentence: str) -> NoReturn:
    """End a command that Ctrl-C stopped; `sentence` says how to go on."""
    note("stopped", sentence)
    raise typer.Exit(INTERRUPTED)
