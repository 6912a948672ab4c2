"""The host's side of the worker process: starts it, calls functions in it, and replaces it when it has ended.

As in Azure, functions don't run in the host: when a worker process dies, only its invocations fail, and an invocation
that exceeds `functionTimeout` ends the process.
"""

import asyncio
import socket
import subprocess
import sys
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from throughline.local.host.index import Function
from throughline.local.host.logs import logger
from throughline.local.host.settings import AppError
from throughline.local.host.worker.messages import Datum, Invoke, Load, Loaded, Outcome, Stop, encode, receive
from throughline.project import ROOT

_QUICK_DEATH = 3.0
_MOST_QUICK_DEATHS = 3
_LAST_WORDS = 2.0  # seconds for a worker's end


class WorkerDeadError(Exception):
    """The worker process keeps dying; the host can't continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """Seconds: `timeout` of an invocation (None: no limit), `pause` from a worker killed for it to the next one."""

    timeout: float | None = None
    pause: float = 10.0


_USUAL = WorkerLimits()


class _Process:
    """One worker process and the socket to it."""

    def __init__(self, python: tuple[str, ...]) -> None:
        own_socket, process_socket = socket.socketpair()
        with process_socket:
            self._child = subprocess.Popen(  # noqa: S603 -- our own program
                [*python, "-m", "throughline.local.host.worker.process", str(process_socket.fileno())],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(process_socket.fileno(),),
            )
        self.socket = own_socket
        self.began = time.monotonic()

    @property
    def pid(self) -> int:
        return self._child.pid

    def kill(self) -> None:
        self._child.kill()

    async def ended(self) -> int:
        """Wait for the end and return the exit code; kill the process when that takes long."""
        try:
            return await asyncio.to_thread(self._child.wait, _LAST_WORDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            return self._child.wait()


class WorkerProcess:
    """The process that runs all functions of one app; it starts with this object.

    `python` is the command that starts an interpreter.
    """

    def __init__(self, patience: WorkerLimits = _USUAL, *, python: tuple[str, ...] = (sys.executable,)) -> None:
        self.results: defaultdict[str, Counter[str]] = defaultdict(lambda: Counter(ok=0, failed=0))
        self.running: Counter[str] = Counter()
        self.version = ""
        self._patience = patience
        self._python = python
        self._process = _Process(python)
        self._load: Load
        self._writer: asyncio.StreamWriter
        self._ready = asyncio.Event()
        self._calls: dict[str, asyncio.Future[Outcome]] = {}
        self._timed_out = False
        self._stopping = False

    @property
    def pid(self) -> int:
        """The id of the current worker process."""
        return self._process.pid

    async def load(self, request: Load) -> None:
        """Import every function. Raises AppError, which names all that can't be loaded and why."""
        self._load = request
        try:
            self._reader = await self._connect()
        except (AppError, asyncio.IncompleteReadError, ConnectionError) as error:
            self._writer.close()
            code = await self._process.ended()
            if isinstance(error, AppError):
                raise
            raise AppError([f"the worker process ended with exit code {code} while it loaded the functions"]) from error

    async def keep(self) -> None:
        """Receive the worker's answers, and start another worker whenever one ends; until `stop`.

        Raises WorkerDeadError when several in a row end at once.
        """
        quick = 0
        while True:
            await self._answers()
            self._ready.clear()
            code = await self._process.ended()
            if self._stopping:
                return
            self._fail_all(f"the worker process ended with exit code {code}")
            quick = quick + 1 if time.monotonic() - self._process.began < _QUICK_DEATH else 0
            if quick >= _MOST_QUICK_DEATHS:
                raise WorkerDeadError(f"the worker process keeps dying (exit code {code})")
            pause, self._timed_out = self._patience.pause if self._timed_out else 0.0, False
            logger.error("the worker process ended (exit code %s); the next starts in %.0f s", code, pause)
            await asyncio.sleep(pause)
            self._process = _Process(self._python)
            try:
                self._reader = await self._connect()
            except (AppError, asyncio.IncompleteReadError, ConnectionError) as error:
                logger.error("the worker process can't load the functions: %s", error)

    async def invoke(
        self, function: Function, value: Datum, metadata: Mapping[str, Datum], tried: str = "1/1"
    ) -> Outcome:
        """Call a function with its trigger's value, once there is a worker process.

        A failure is logged in one line and reported in the outcome.
        """
        invocation = str(uuid.uuid4())
        self.running[function.trigger.type] += 1
        try:
            outcome = await self._invoke(invocation, function, value, metadata)
        finally:
            self.running[function.trigger.type] -= 1
            self._calls.pop(invocation, None)
        self.results[function.name]["failed" if outcome.error else "ok"] += 1
        if outcome.error:
            logger.error("function=%s invocation=%s try=%s failed: %s", function.name, invocation, tried, outcome.error)
        return outcome

    async def stop(self) -> None:
        """End the worker process, in which nothing may be running."""
        self._stopping = True
        if self._ready.is_set():
            self._writer.write(encode(Stop()))
        else:
            self._process.kill()

    async def _connect(self) -> asyncio.StreamReader:
        reader, self._writer = await asyncio.open_connection(sock=self._process.socket)
        self._writer.write(encode(self._load))
        loaded: Loaded = await receive(reader)
        if loaded.problems:
            raise AppError(list(loaded.problems))
        self.version = loaded.version
        self._ready.set()
        return reader

    async def _answers(self) -> None:
        """Forward the worker's answers until it ends."""
        try:
            while True:
                outcome: Outcome = await receive(self._reader)
                if (waiting := self._calls.get(outcome.invocation)) and not waiting.done():
                    waiting.set_result(outcome)
        except (asyncio.IncompleteReadError, ConnectionError):
            self._writer.close()

    async def _invoke(
        self, invocation: str, function: Function, value: Datum, metadata: Mapping[str, Datum]
    ) -> Outcome:
        await self._ready.wait()
        self._calls[invocation] = asyncio.get_running_loop().create_future()
        call = Invoke(
            invocation=invocation,
            function=function.id,
            name=function.name,
            parameter=function.trigger.name,
            value=value,
            metadata=dict(metadata),
        )
        self._writer.write(encode(call))
        try:
            return await asyncio.wait_for(asyncio.shield(self._calls[invocation]), self._patience.timeout)
        except TimeoutError:
            seconds = self._patience.timeout
            self._timed_out = True
            self._ready.clear()  # later calls wait for the next process
            self._process.kill()
            return Outcome(invocation=invocation, error=f"it took longer than functionTimeout, {seconds} s")

    def _fail_all(self, reason: str) -> None:
        for invocation, waiting in self._calls.items():
            if not waiting.done():
                waiting.set_result(Outcome(invocation=invocation, error=reason))
