"""Assemble the host's parts and run them until a signal."""

import asyncio
import contextlib
import hashlib
import os
import signal
import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import uvicorn

from throughline.local.host.config import HostConfig
from throughline.local.host.http.keys import Keys
from throughline.local.host.http.routes import make_routes
from throughline.local.host.http.server import Web
from throughline.local.host.index import Function, read_functions
from throughline.local.host.logs import logger
from throughline.local.host.message_queue import Pace
from throughline.local.host.timers import Timer
from throughline.local.host.triggers import StorageGoneError, StorageHost
from throughline.local.host.worker.client import WorkerDeadError, WorkerProcess
from throughline.local.host.worker.messages import Load

_KEEP_ALIVE_SECONDS = 75  # longer than the usual clients' pools keep a connection


class _Server(uvicorn.Server):
    """Leaves signals to this module: uvicorn's handling ends the process by the signal instead of with status 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class AppHost:
    """One app: call `load` (raises AppError for an invalid app), then `serve`. Its functions run in `worker`.

    `keys` is the file of keys that requests must have, `grace` the seconds for running functions when the host is asked
    to end.
    """

    def __init__(
        self, root: Path, config: HostConfig, worker: WorkerProcess, *, pace: Pace, keys: Path | None, grace: float
    ) -> None:
        self._root, self._config, self._worker = root, config, worker
        self._pace, self._keys, self._grace = pace, keys, grace
        self._host_id = _host_id(root)
        self._functions: tuple[Function, ...] = ()
        self._storage: StorageHost | None = None
        self._timers: list[Timer] = []
        self._server: _Server | None = None

    async def load(self) -> None:
        """Check and import all functions."""
        self._functions = read_functions(self._root)
        routes = make_routes(self._of("httpTrigger"), self._config)
        if functions := self._of("blobTrigger", "queueTrigger"):
            self._storage = StorageHost(
                functions, self._worker, config=self._config, pace=self._pace, host_id=self._host_id
            )
        self._timers = [Timer(function, self._worker) for function in self._of("timerTrigger")]
        level = self._config.logging.log_level.default
        await self._worker.load(Load(root=self._root, functions=self._functions, level=level))
        config = uvicorn.Config(
            Web(
                self._worker,
                routes,
                pages={"/admin/host/status": self._status, "/admin/host/calls": self._calls},
                keys=Keys(self._keys),
                put=self._storage.blobs.put if self._storage and self._storage.blobs else None,
            ),
            lifespan="off",
            loop="asyncio",
            http="h11",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=int(self._grace),
        )
        self._server = _Server(config)

    async def serve(self, listening: socket.socket) -> bool:
        """Run until SIGTERM or SIGINT, or until the host can't continue; then end what runs.

        Returns whether it ended by a signal and within the grace.
        """
        assert self._server is not None  # noqa: S101 -- load() came first
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        web = asyncio.create_task(self._server.serve([listening]))
        keeping = asyncio.create_task(self._worker.keep())
        triggers: list[Timer | StorageHost] = [*self._timers, *([self._storage] if self._storage else [])]
        tasks = [asyncio.create_task(trigger.run()) for trigger in triggers]
        logger.info("serving %s functions as %s", len(self._functions), self._host_id)
        waiting = asyncio.create_task(stop.wait())
        await asyncio.wait([web, waiting, keeping, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)  # a second one ends the process at once
        self._server.should_exit = True
        for task in (waiting, *tasks):
            task.cancel()
        try:
            async with asyncio.timeout(self._grace):
                results = await asyncio.gather(web, *tasks, return_exceptions=True)
                await asyncio.gather(*(trigger.finish() for trigger in triggers))
                await self._worker.stop()
                results += await asyncio.gather(keeping, return_exceptions=True)
        except TimeoutError:
            logger.error("after %s s still running: %s", self._grace, dict(+self._worker.running))
            return False
        errors = [result for result in results if isinstance(result, Exception)]
        for error in errors:
            if not isinstance(error, (StorageGoneError, WorkerDeadError)):
                raise error
            logger.critical("An unhandled exception has occurred. Host is shutting down. %s", error)
        return not errors

    def _of(self, *triggers: str) -> tuple[Function, ...]:
        return tuple(function for function in self._functions if function.trigger.type in triggers)

    async def _status(self) -> dict[str, Any]:
        return {
            "id": self._host_id,
            "state": "Running",
            "version": f"local, runtime {self._worker.version}",
            "processId": os.getpid(),
            "workerProcessId": self._worker.pid,
            "functions": [function.name for function in self._functions],
        }

    async def _calls(self) -> dict[str, Any]:
        storage = self._storage
        return {
            "invocations": {function.name: dict(self._worker.results[function.name]) for function in self._functions},
            "storage": dict(storage.calls) if storage else {},
            "in_flight": self._worker.running.total(),
            "running": dict(+self._worker.running),
            "queued": await storage.queued() if storage else 0,
            "poisoned": storage.poisoned if storage else 0,
        }


def _host_id(root: Path) -> str:
    """Return the id of receipts and queue: from the real host's setting, else derived from the folder."""
    setting = os.environ.get("AzureFunctionsWebHost__hostid")  # noqa: SIM112 -- spelled as the real host spells it
    return setting or f"local-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}"
