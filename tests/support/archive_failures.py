"""Helpers for tests of archive failures."""

from typing import Any

from shared.storage.memory import MemoryStorage
from tests.support.archiving import archiving
from tests.support.processing import Killed


class Failing:
    """Storage that fails before or after its nth call."""

    def __init__(self, real: MemoryStorage, calls: int, *, after: bool) -> None:
        self.real = real
        self.left = calls
        self.after = after

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left < 0 or (self.left == 0 and not self.after):
                raise Killed
            result = getattr(self.real, name)(*arguments, **named)
            if name in {"blobs", "partition", "scan"}:
                result = list(result)
            if self.left == 0:
                raise Killed
            return iter(result) if isinstance(result, list) else result

        return called


SMALL = archiving(most=3)
