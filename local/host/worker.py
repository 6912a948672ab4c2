"""Microsoft's V1 worker runtime: loads the functions and invokes them.

The runtime speaks protobuf at its edges; it only reads and makes attributes, so plain namespaces stand in for the
messages, and `invocation_request_native` takes and returns its own `Datum`.
"""

import asyncio
import os
import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from local.host import runtime
from local.host.index import Function
from local.host.logs import logger, mark_records
from local.host.settings import AppError

_PACKAGES = ".python_packages/lib/site-packages"  # where the real worker looks first


class _StatusResult(SimpleNamespace):
    Success, Failure = 1, 0


_PROTOS = SimpleNamespace(
    StatusResult=_StatusResult,
    BindingInfo=SimpleNamespace(undefined=None, inout="inout", out="out", **{"in": "in"}),
    **dict.fromkeys(("WorkerInitResponse", "WorkerMetadata", "FunctionLoadResponse", "RpcException"), SimpleNamespace),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of an invocation, in the runtime's Datums; `error` is "" when it succeeded."""

    invocation_id: str
    error: str
    returned: Any = None
    outputs: tuple[tuple[str, Any], ...] = ()


class Worker:
    """All functions of one app; there can be one in a process, as the runtime keeps its functions in a module."""

    def __init__(self) -> None:
        self.results: defaultdict[str, Counter[str]] = defaultdict(lambda: Counter(ok=0, failed=0))
        self.running: Counter[str] = Counter()
        self._names: dict[str, str] = {}  # of the running invocations
        self._invoke: Any = None
        self._datum: Any = None

    async def load(self, root: Path, functions: tuple[Function, ...], threads: int) -> None:
        """Import every function; AppError names all that can't be loaded and why.

        `threads` is how many functions without `async` run at once, unless PYTHON_THREADPOOL_THREAD_COUNT says it.
        """
        os.environ.setdefault("PYTHON_THREADPOOL_THREAD_COUNT", str(threads))
        os.chdir(root)
        sys.path.insert(0, str(root))  # `from shared.x import y` works in Azure as the worker does this
        packages = root / _PACKAGES
        if packages.is_dir():  # a built archive brings its own
            sys.path.insert(0, str(packages))
        runtime.put_on_path()
        import azure_functions_runtime_v1 as v1  # noqa: PLC0415 -- only importable now
        from azure_functions_runtime_v1.bindings.datumdef import Datum  # noqa: PLC0415 -- the same
        from azure_functions_runtime_v1.native_invocation import invocation_request_native  # noqa: PLC0415 -- the same

        self._invoke, self._datum = invocation_request_native, Datum
        mark_records(lambda: self._names.get(v1.invocation_id_cv.get() or "", "host"))
        v1.start_threadpool_executor()
        await v1.worker_init_request(_request(worker_init_request=SimpleNamespace(capabilities={})))
        problems = []
        for function in functions:
            answer = await v1.function_load_request(_request(function_load_request=_load_request(function)))
            if answer.result.status != _StatusResult.Success:
                # The runtime adds advice about deploying and the whole path, which says nothing here.
                why = answer.result.exception.message.partition(" Cannot find module. Please")[0]
                problems.append(f"{function.name}: can't be loaded: {why}")
                logger.debug("loading %s failed: %s", function.name, answer.result.exception.stack_trace)
        if problems:
            raise AppError(problems)

    def datum(self, value: object, kind: str) -> Any:
        """Make the runtime's intermediate value: `kind` is string, bytes, json or http."""
        return self._datum(value, kind)

    async def invoke(self, function: Function, value: Any, metadata: Mapping[str, Any], tried: str = "1/1") -> Outcome:
        """Call a function with its trigger's value; a failure is logged as one line and told in the outcome."""
        invocation_id = str(uuid.uuid4())
        self._names[invocation_id] = function.name
        self.running[function.trigger.type] += 1
        try:
            ok, returned, outputs, error, _trace = await self._invoke(
                invocation_id, function.id, [(function.trigger.name, value)], metadata
            )
        finally:
            self.running[function.trigger.type] -= 1
            del self._names[invocation_id]
        self.results[function.name]["ok" if ok else "failed"] += 1
        if not ok:
            logger.error("function=%s invocation=%s try=%s failed: %s", function.name, invocation_id, tried, error)
        return Outcome(
            invocation_id=invocation_id, error="" if ok else error, returned=returned, outputs=tuple(outputs)
        )

    async def stop(self) -> None:
        """Wait for what runs in the runtime's threads."""
        import azure_functions_runtime_v1 as v1  # noqa: PLC0415 -- not on the path before load()

        await asyncio.to_thread(v1.stop_threadpool_executor)


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
        entry_point=function.entry_point,
        bindings=bindings,
    )
    return SimpleNamespace(function_id=function.id, metadata=metadata)
