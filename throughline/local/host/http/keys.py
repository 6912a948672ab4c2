"""Keys of the app and of its functions, checked as by the real host; without a file none is needed, as under `func`.

The file is JSON: `{"functionKeys": {NAME: KEY}, "functions": {FUNCTION: {NAME: KEY}}}`; both parts are optional. It is
read again when it changes: deleting a key has an effect at once. Replace it whole (write another file, rename it): a
request that meets a half-written one is answered with 500.
"""

import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


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
        modified = self._path.stat().st_mtime_ns
        if modified != self._read_at:
            self._content, self._read_at = json.loads(self._path.read_bytes()), modified
        keys = (self._content.get("functionKeys", {}), self._content.get("functions", {}).get(name, {}))
        return any(hmac.compare_digest(key_given.encode(), key.encode()) for part in keys for key in part.values())
