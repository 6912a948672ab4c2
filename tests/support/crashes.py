"""Helpers for tests of crashes."""

from typing import Any

from shared.storage.memory import MemoryStorage


class Killed(BaseException):
    """The process ends here."""


class KilledAtCall:
    """Storage whose user is killed at its nth call, before or after the call takes effect."""

    def __init__(self, real: MemoryStorage, calls: int, *, dies_after: bool) -> None:
        self.real = real
        self.left = calls
        self.after = dies_after

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise Killed
            answer = getattr(self.real, name)(*arguments, **named)
            if self.left == 0:
                raise Killed
            return answer

        return called
