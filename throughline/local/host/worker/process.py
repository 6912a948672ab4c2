"""The worker process: Microsoft's V1 worker runtime, which loads the functions and invokes them.

The host starts it as `python -m throughline.local.host.worker.process FD` and exchanges messages over the socket FD.
The process ends when the socket closes, for any reason. The runtime expects protobuf messages, but only reads and
sets attributes, so plain namespaces replace them; `invocation_request_native` takes and returns its own `Datum`.
"""

import asyncio
import importlib.metadata
import os
import signal
import socket
import sys
from types import SimpleNamespace
from typing import Any

from throughline.local.host import runtime
from throughline.local.host.index import Function
from throughline.local.host.logs import logger, mark_records, set_up
from throughline.local.host.worker.messages import (
    Datum,
    HttpAnswer,
    Invoke,
    Load,
    Loaded,
    Outcome,
    Stop,
    encode,
    receive,
)

_PACKAGES = ".python_packages/lib/site-packages"  # where the real worker looks first


class _StatusResult(SimpleNamespace):
    Success, Failure = 1, 0


_PROTOS = SimpleNamespace(
    StatusResult=_StatusResult,
    BindingInfo=SimpleNamespace(undefined=None, inout="inout", out="out", **{"in": "in"}),
    **dict.fromkeys(("WorkerInitResponse", "WorkerMetadata", "FunctionLoadResponse", "RpcException"), SimpleNamespace),
)


class _Runtime:
    """All functions of one app; one per process, since the runtime keeps its functions in a module."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # of the running invocations
        self._invoke: Any = None
        self._datum: Any = None

    async def load(self, request: Load) -> Loaded:
        """Import every function; return a sentence for each that can't be loaded."""
        os.environ.setdefault("PYTHON_THREADPOOL_THREAD_COUNT", str(request.threads))
        os.chdir(request.root)
        sys.path.insert(0, str(request.root))  # `from shared.x import y` works in Azure because the worker does this
        packages = request.root / _PACKAGES
        if packages.is_dir():  # a built archive has its own packages
            sys.path.insert(0, str(packages))
        runtime.put_on_path()
        import azure_functions_runtime_v1 as v1  # noqa: PLC0415 -- only importable now
        from azure_functions_runtime_v1.bindings.datumdef import Datum as Theirs  # noqa: PLC0415 -- the same
        from azure_functions_runtime_v1.native_invocation import invocation_request_native  # noqa: PLC0415 -- the same

        self._invoke, self._datum = invocation_request_native, Theirs
        mark_records(lambda: self._names.get(v1.invocation_id_cv.get() or "", "host"))
        v1.start_threadpool_executor()
        await v1.worker_init_request(_request(worker_init_request=SimpleNamespace(capabilities={})))
        problems = []
        for function in request.functions:
            answer = await v1.function_load_request(_request(function_load_request=_load_request(function)))
            if answer.result.status != _StatusResult.Success:
                # The runtime adds advice about deployment and the whole path, which does not apply here.
                reason = answer.result.exception.message.partition(" Cannot find module. Please")[0]
                problems.append(f"{function.name}: can't be loaded: {reason}")
                logger.debug("loading %s failed: %s", function.name, answer.result.exception.stack_trace)
        version = importlib.metadata.version("azure-functions-runtime-v1")
        return Loaded(problems=tuple(problems), version=version)

    async def invoke(self, call: Invoke) -> Outcome:
        """Call a function with its trigger's value."""
        self._names[call.invocation] = call.name
        try:
            ok, returned, _outputs, error, _trace = await self._invoke(
                call.invocation,
                call.function,
                [(call.parameter, self._theirs(call.value))],
                {key: self._theirs(value) for key, value in call.metadata.items()},
            )
        finally:
            del self._names[call.invocation]
        if not ok:
            return Outcome(invocation=call.invocation, error=error)
        return Outcome(invocation=call.invocation, answer=None if returned is None else _answer(returned))

    def _theirs(self, value: Any) -> Any:
        """Convert a value, with all nested ones, to the runtime's own class."""
        if isinstance(value, dict):
            return {key: self._theirs(element) for key, element in value.items()}
        return self._datum(self._theirs(value.value), value.type) if isinstance(value, Datum) else value

    @staticmethod
    async def stop() -> None:
        """Wait for the runtime's threads."""
        import azure_functions_runtime_v1 as v1  # noqa: PLC0415 -- not on the path before load()

        await asyncio.to_thread(v1.stop_threadpool_executor)


def _answer(answered: Any) -> HttpAnswer:
    """Convert a function's result, an HttpResponse."""
    value = answered.value
    return HttpAnswer(
        status=int(value["status_code"].value),
        body=value["body"].value,
        headers=tuple((name, text.value) for name, text in value["headers"].items()),
    )


def _request(**message: Any) -> SimpleNamespace:
    return SimpleNamespace(request=SimpleNamespace(**message), properties={"protos": _PROTOS, "host": "127.0.0.1"})


def _load_request(function: Function) -> SimpleNamespace:
    bindings = {
        binding.name: SimpleNamespace(
            type=binding.type, direction=binding.direction, data_type=binding.data.get("dataType")
        )
        for binding in function.bindings
    }
    metadata = SimpleNamespace(
        name=function.name,
        directory=str(function.directory),
        script_file=str(function.script),
        entry_point="",
        bindings=bindings,
    )
    return SimpleNamespace(function_id=function.id, metadata=metadata)


async def _serve(channel: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=channel)
    runs = _Runtime()
    running: set[asyncio.Task[None]] = set()
    wanted_receive: Load = await receive(reader)
    set_up(wanted_receive.level)
    writer.write(encode(await runs.load(wanted_receive)))

    async def do(call: Invoke) -> None:
        try:
            answer = encode(await runs.invoke(call))
        except Exception as error:  # noqa: BLE001 -- whatever it was, the host waits for an answer
            answer = encode(Outcome(invocation=call.invocation, error=repr(error)))
        writer.write(answer)
        await writer.drain()

    while not isinstance(message := await receive(reader), Stop):
        task = asyncio.create_task(do(message))
        running.add(task)
        task.add_done_callback(running.discard)
    await runs.stop()


def main() -> None:
    """Serve the host until it sends Stop or ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # signals are for the host, which waits for running functions
        signal.signal(number, signal.SIG_IGN)
    try:
        asyncio.run(_serve(socket.socket(fileno=int(sys.argv[1]))))
    except (asyncio.IncompleteReadError, ConnectionError):  # the host has ended
        os._exit(1)


if __name__ == "__main__":
    main()
