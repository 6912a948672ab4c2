"""Logging to stderr: one line for each record, with the function that wrote it."""

import logging
import sys
from collections.abc import Callable
from typing import Literal

Level = Literal["Trace", "Debug", "Information", "Warning", "Error", "Critical", "None"]
_LEVELS: dict[Level, int] = {
    "Trace": logging.DEBUG,
    "Debug": logging.DEBUG,
    "Information": logging.INFO,
    "Warning": logging.WARNING,
    "Error": logging.ERROR,
    "Critical": logging.CRITICAL,
    "None": logging.CRITICAL + 1,
}
"""The levels of host.json as Python's."""

logger = logging.getLogger("throughline.local.host")


class _OneLine(logging.Formatter):
    """Folds line ends, and a traceback into its last line."""

    def __init__(self) -> None:
        super().__init__(
            "%(asctime)s %(levelname)-7s [%(function)s] %(message)s", "%H:%M:%S", defaults={"function": "host"}
        )

    def format(self, record: logging.LogRecord) -> str:
        record.message = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            record.message += f" ({record.exc_info[0].__name__}: {record.exc_info[1]})"
        record.asctime = self.formatTime(record, self.datefmt)
        return self.formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")


def set_up(level: Level) -> None:
    """Log to stderr from host.json's `level` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine())
    # The runtime reports a failure with its traceback, the host in one line.
    handler.addFilter(lambda record: record.name != "azure.functions" or record.levelno < logging.ERROR)
    logging.basicConfig(level=_LEVELS[level], handlers=[handler], force=True)
    for noisy in ("azure.core", "azure.identity", "asyncio", "uvicorn", "uvicorn.error"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # its warnings contain whole URLs with their signatures


def mark_records(function: Callable[[], str]) -> None:
    """Add to every record the function that writes it: the value of `function` at that moment."""

    def mark(record: logging.LogRecord) -> bool:
        record.function = function()
        return True

    for handler in logging.getLogger().handlers:
        handler.addFilter(mark)
