"""The functions under `func start` of Azure Functions Core Tools, if they are installed.

Reference: https://learn.microsoft.com/azure/azure-functions/functions-run-local. It runs in the app's folder, takes the
first Python of the path, and the environment's settings take precedence over those of local.settings.json.
"""

import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

from throughline.local.functions import FunctionsHostError, Host
from throughline.local.process.leashed import Leashed
from throughline.local.process.listening import listen

_START_SECONDS = 180  # the first start downloads the extension bundle
_NOTICE_SECONDS = 3.0  # until Event Grid reports a blob; func itself lists blobs every two seconds


def find_func(path: str | None = None) -> Path:
    """Return the program `func` on `path`, else on the environment's. Raises FunctionsHostError if there is none."""
    program = shutil.which("func", path=path)
    if program is None:
        raise FunctionsHostError(
            "func is not installed: get Azure Functions Core Tools 4 "
            "(https://learn.microsoft.com/azure/azure-functions/functions-run-local), or omit FUNC=1 and --func: "
            "then the functions run on Microsoft's Python runtime alone"
        )
    return Path(program)


class Func(Host):
    """A host of the functions of `app` by `func start`.

    It listens on all addresses of this machine, checks no keys, does not count its calls, and is not started again
    when it dies. It lists the emulator's blobs every two seconds and takes only those newer, in whole seconds, than the
    newest one seen, so it misses a blob that is written later in the same second. Event Grid reports each blob a little
    later: some are delivered twice, and none is missed.
    """

    def __init__(self, *, func: Path, app: Path, port: int = 0, environment: Mapping[str, str], log: Path) -> None:
        super().__init__(app=app, port=port, environment=environment, log=log, event_grid=_NOTICE_SECONDS)
        self._func = func
        python = Path(sys.executable).parent
        self._environment |= {
            "PATH": f"{python}{os.pathsep}{environment.get('PATH', os.defpath)}",
            "VIRTUAL_ENV": str(python.parent),
            "FUNCTIONS_WORKER_RUNTIME": "python",
            "FUNCTIONS_CORE_TOOLS_TELEMETRY_OPTOUT": "1",
        }
        self._running: Leashed | None = None

    def _take_port(self) -> int:
        with listen(self._port, "func", "choose another one") as free:  # and close it: func opens the port itself
            port: int = free.getsockname()[1]
        return port

    def _begin(self) -> None:
        self._running = Leashed(
            [str(self._func), "start", "--port", str(self._port)],
            environment=self._environment,
            output=self._log,
            log=self._log.with_suffix(".errors.log"),
            folder=self._app,
        )

    @property
    def pid(self) -> int:
        """The id of func's parent process."""
        return self._child.pid

    @property
    def _child(self) -> Leashed:
        if self._running is None:
            raise FunctionsHostError("func is not running")
        return self._running

    def calls(self) -> dict[str, Any]:
        """Zeros: func does not show its calls."""
        return {"invocations": {}, "storage": {}, "queued": 0, "in_flight": 0}

    def stop(self) -> None:
        """End func and its worker."""
        if self._running is not None:
            self._running.stop()

    def _wait(self) -> None:
        """Wait until the host's status page, which Azure has too, says that it runs."""
        running = self._child
        deadline = time.monotonic() + _START_SECONDS
        while running.running and time.monotonic() < deadline:
            try:
                status = requests.get(f"{self.url}/admin/host/status", timeout=5)
                if status.ok and status.json().get("state") == "Running":
                    return
            except requests.RequestException:
                pass  # it does not listen yet
            time.sleep(0.2)
        reason = f"did not run after {_START_SECONDS} s" if running.running else "ended"
        raise FunctionsHostError(f"func start {reason}: {self._last_output()}")

    def _last_output(self) -> str:
        log = "".join(path.read_text(errors="replace") for path in (self._log, self._log.with_suffix(".errors.log")))
        return log.strip()[-2000:] or f"{self._log} is empty"
