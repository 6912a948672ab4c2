"""Keys of the app and of its functions, checked as by the real host; without a file none is needed, as under `func`.

The file is JSON: `{"masterKey": "…", "functionKeys": {NAME: KEY}, "systemKeys": {NAME: KEY}, "functions": {FUNCTION:
{NAME: KEY}}}`; every part is optional. It is read again when it changes: deleting a key has an effect at once. Replace
it whole (write another file, rename it): a request that meets a half-written one is answered with 500.
"""

import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BLOBS_EXTENSION = "blobs_extension"
"""The system key of the blob extension's webhook."""


class Keys:
    """The keys in a file; without a file every request is allowed."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._read_at = 0
        self._content: Mapping[str, Any] = {}

    def open_function(self, name: str, level: str, key_given: str) -> bool:
        """Whether a key, the app's or the function's own, allows calling a function."""
        if self._path is None or level.lower() == "anonymous":
            return True
        keys = self._present()
        allowed = [keys.get("masterKey", "")]
        if level.lower() == "function":
            allowed += keys.get("functionKeys", {}).values()
            allowed += keys.get("functions", {}).get(name, {}).values()
        return _one_of(key_given, allowed)

    def open_webhook(self, key_given: str) -> bool:
        """Whether a key allows calling the blob extension's webhook."""
        if self._path is None:
            return True
        keys = self._present()
        return _one_of(key_given, [keys.get("masterKey", ""), keys.get("systemKeys", {}).get(BLOBS_EXTENSION, "")])

    def _present(self) -> Mapping[str, Any]:
        assert self._path is not None  # noqa: S101 -- both callers look first
        modified = self._path.stat().st_mtime_ns
        if modified != self._read_at:
            self._content, self._read_at = json.loads(self._path.read_bytes()), modified
        return self._content


def _one_of(key_given: str, allowed: list[str]) -> bool:
    return any(key and hmac.compare_digest(key_given.encode(), key.encode()) for key in allowed)
