"""The functions under `func start` of Azure Functions Core Tools, if they are installed.

Reference: https://learn.microsoft.com/azure/azure-functions/functions-run-local. It runs in the app's folder, takes the
first Python of the path, and the environment's settings take precedence over those of local.settings.json.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from throughline.local.errors import LocalError
from throughline.local.functions import Host
from throughline.local.process.leashed import Leashed
from throughline.local.process.listening import listen


def find_func(path: str | None = None) -> Path:
    """Return the program `func` on `path`, else on the environment's. Raises LocalError if there is none."""
    program = shutil.which("func", path=path)
    if program is None:
        raise LocalError(
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

    name = "func start"
    start_seconds = 180.0  # the first start downloads the extension bundle
    notice_seconds = 3.0  # func itself lists blobs every two seconds

    def __init__(self, *, func: Path, app: Path, port: int = 0, environment: Mapping[str, str], log: Path) -> None:
        python = Path(sys.executable).parent
        settings = {
            "PATH": f"{python}{os.pathsep}{environment.get('PATH', os.defpath)}",
            "VIRTUAL_ENV": str(python.parent),
            "FUNCTIONS_WORKER_RUNTIME": "python",
            "FUNCTIONS_CORE_TOOLS_TELEMETRY_OPTOUT": "1",
        }
        super().__init__(app=app, port=port, environment={**environment, **settings}, log=log)
        self._func = func

    def calls(self) -> dict[str, Any]:
        """Zeros: func does not show its calls."""
        return {"invocations": {}, "storage": {}, "queued": 0, "in_flight": 0}

    def _start(self) -> Leashed:
        with listen(self._port, "func", "choose another one") as free:  # and close it: func opens the port itself
            self._port = free.getsockname()[1]
        command = [str(self._func), "start", "--port", str(self._port)]
        return Leashed(command, environment=self._environment, output=self._log, folder=self._app)
