"""Starts a catalog as a child process, for the local world and for tests."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import requests

from throughline.local.catalog import LOCAL_TOKEN
from throughline.local.errors import LocalError
from throughline.local.process.answering import answer_of
from throughline.local.process.leashed import Leashed
from throughline.local.process.listening import listen
from throughline.project import ROOT

_START_SECONDS = 30.0
_CALL_SECONDS = 30.0


class CatalogServer:
    """A catalog in a child process: `with CatalogServer(data="catalog.sqlite") as catalog: …`.

    `port` on 127.0.0.1 (0: a free one), `data` (an SQLite file or `:memory:`), the clients' `token`, `deletes` (`soft`
    or `hard`), built-in `types` (`purview` or `plain`). The child ends with the block, and with this process in any
    case. Raises LocalError when the port or the data is in use, or the child does not answer in 30 s.
    """

    module = "throughline.local.catalog"
    """The module that the child runs."""

    def __init__(
        self,
        *,
        port: int = 0,
        data: str | Path = ":memory:",
        token: str = LOCAL_TOKEN,
        deletes: str = "soft",
        types: str = "purview",
    ) -> None:
        self.token = token
        self._port = port
        self._data = str(data) if str(data) == ":memory:" else str(Path(data).resolve())
        self._deletes = deletes
        self._types = types
        self._child: Leashed | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The child's process id."""
        if self._child is None:
            raise LocalError("The catalog is not running: use it inside `with`, or call start().")
        return self._child.pid

    @property
    def url(self) -> str:
        """Scheme, host and port: a stopped catalog that starts again listens on the same one."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def endpoint(self) -> str:
        """The root of Atlas' v2 interface at Purview's path; that at `/api/atlas/v2` accepts basic credentials too."""
        return f"{self.url}/datamap/api/atlas/v2"

    def start(self) -> None:
        """Start the child and wait until it answers."""
        # This process holds the socket, so nobody can take the port before the child uses it.
        with listen(self._port, "the catalog", "name another one") as listener, TemporaryDirectory() as folder:
            self._port = listener.getsockname()[1]
            child = Leashed(
                [
                    *(sys.executable, "-m", self.module, "--fd", str(listener.fileno()), "--data", self._data),
                    *("--token", self.token, "--deletes", self._deletes, "--types", self._types),
                ],
                environment=os.environ,
                output=Path(folder) / "output",
                folder=ROOT,
                inherited=(listener.fileno(),),
            )
            listener.close()
            # The socket already listens: the call waits until the child accepts it.
            if not child.wait_for(lambda: answer_of(f"{self.url}/api/atlas/admin/status"), _START_SECONDS):
                child.stop()
                raise LocalError(child.last_output())
        self._child = child

    def stop(self) -> None:
        """End the child gracefully. Does nothing when it has ended."""
        if self._child is not None:
            self._child.stop()

    def calls(self) -> dict[str, Any]:
        """Return the counts of calls (`GET /admin/calls`)."""
        return self.admin("GET", "calls")

    def reset_calls(self) -> None:
        """Reset the counts of calls."""
        self.admin("POST", "calls/reset")

    def reset(self, *, types: bool = False) -> None:
        """Delete all entities and, with `types`, the type definitions that are not built in."""
        self.admin("POST", f"reset?types={str(types).lower()}")

    def admin(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Return the answer of a page of the catalog's own administration."""
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"{self.url}/admin/{path}"
        response = requests.request(method, url, json=body, headers=headers, timeout=_CALL_SECONDS)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer
