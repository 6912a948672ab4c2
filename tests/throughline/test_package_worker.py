"""The archive for Azure, imported and served by Microsoft's worker code without any other installed package.

The code is the V1 runtime, on which Azure runs such apps from Python 3.13 on. Its proxy worker and the worker of 3.11
are on no package registry; this test uses the runtime that throughline/local/runtime.txt pins.
"""

import asyncio
import gzip
import json
import sys
from pathlib import Path

import pytest
from azure.storage.blob import ContainerClient

from tests.support.events import event
from throughline.local.azurite import Azurite
from throughline.local.host import runtime
from throughline.local.host.index import read_functions
from throughline.local.host.settings import AppError
from throughline.local.host.worker.client import WorkerProcess
from throughline.local.host.worker.messages import Datum, Load, Outcome
from throughline.package import PACKAGES, Package

pytestmark = pytest.mark.azurite


def _request(body: bytes) -> Datum:
    return Datum(
        {
            "method": Datum("POST", "string"),
            "url": Datum("http://127.0.0.1/api/v1/lineage", "string"),
            "headers": {"content-type": Datum("application/json", "string")},
            "query": {},
            "params": {},
            "body": Datum(body, "bytes"),
        },
        "http",
    )


async def _serve(app: Path, bodies: list[bytes]) -> list[Outcome]:
    """Load all functions of an app, and call its receiver."""
    worker = WorkerProcess(python=(sys.executable, "-S"))  # without installed packages: the archive must be enough
    functions = read_functions(app)
    await worker.load(Load(root=app, functions=functions, threads=1, level="Information"))
    keeping = asyncio.create_task(worker.keep())
    (receiver,) = (function for function in functions if function.name == "receiver_function")
    try:
        return [await worker.invoke(receiver, _request(body), {}) for body in bodies]
    finally:
        await worker.stop()
        await keeping


def test_microsofts_worker_runs_the_package_without_installed_libraries(
    package: Package, azurite: Azurite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All functions load, a good event is kept as a blob, and a bad one is refused."""
    runtime.install()
    monkeypatch.setenv("AzureWebJobsStorage", azurite.connection_string)
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    good = event("package worker", "START", "10:00:00", inputs=["/a"], application="package worker app")
    accepted_answer, refused = (outcome.answer for outcome in asyncio.run(_serve(package.unpacked, [good, b"{}"])))
    assert accepted_answer is not None
    assert refused is not None
    assert (accepted_answer.status, refused.status) == (201, 400)
    run = json.loads(accepted_answer.body)["run"]
    with ContainerClient.from_connection_string(azurite.connection_string, "events") as events:
        (blob,) = (name for name in events.list_blob_names() if run in name)
        assert gzip.decompress(events.download_blob(blob).readall()) == good


def test_a_package_that_lacks_a_module_does_not_load(
    package: Package, azurite: Azurite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The test would pass if the packages were installed."""
    monkeypatch.setenv("AzureWebJobsStorage", azurite.connection_string)
    for path in [*package.unpacked.iterdir(), *(package.unpacked / PACKAGES).iterdir()]:
        copy = tmp_path / path.relative_to(package.unpacked)
        if path.name not in {".python_packages", "msgspec"}:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path)
    with pytest.raises(AppError, match=r"receiver_function: can't be loaded: .*No module named 'msgspec'"):
        asyncio.run(_serve(tmp_path, []))
