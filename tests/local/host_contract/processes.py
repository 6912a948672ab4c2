"""Processes that end: the host, its worker, storage; and the behaviour of the project's receiver then."""

import concurrent.futures
import json
import os
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

import requests

from tests.local.host_contract import Bench, contract_case
from tests.local.host_contract.blobs import container_of
from tests.local.hosting import APPS, App, sample, wait_for
from tests.support.events import event
from throughline.local.azurite import Azurite
from throughline.local.functions import FunctionsHost
from throughline.local.host.message_queue import Pace
from throughline.local.host.storage import HostStorage
from throughline.local.host.worker.client import WorkerLimits
from throughline.project import ROOT

_CATALOG = {"THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:1/datamap/api/atlas/v2", "THROUGHLINE_CATALOG_TOKEN": "t"}


def _in_flight(app: App, number: int) -> bool:
    return wait_for(lambda: app.get("/admin/host/calls")["in_flight"] == number)


@contract_case("the requests in a killed worker process get a 500, and the next one answers later requests")
def _killed_worker(bench: Bench) -> None:
    with sample("web", bench.scratch) as app, concurrent.futures.ThreadPoolExecutor() as pool:
        host = app.start()
        worker = app.get("/admin/host/status")["workerProcessId"]
        answers = [pool.submit(requests.get, f"{app.url}/api/slow", timeout=60) for _ in range(3)]
        assert _in_flight(app, 3)
        os.kill(worker, signal.SIGKILL)
        assert wait_for(lambda: "the worker process ended" in host.log.read_text())
        answer_after = requests.get(f"{app.url}/api/items/7/a", timeout=60)
        assert [answer.result().status_code for answer in answers] == [500] * 3
        assert (answer_after.status_code, answer_after.text) == (200, "item|7|a")
        assert app.get("/admin/host/status")["workerProcessId"] != worker


@contract_case("functionTimeout kills the worker process, and a new one runs ten seconds later")
def _timeout(bench: Bench) -> None:
    assert WorkerLimits().pause == 10.0
    app_folder = bench.scratch / "app"
    shutil.copytree(APPS / "web", app_folder)
    (app_folder / "host.json").write_text(json.dumps({"version": "2.0", "functionTimeout": "00:00:01"}))
    code = (app_folder / "slow_hello" / "__init__.py").read_text().replace("0.5", "60")
    (app_folder / "slow_hello" / "__init__.py").write_text(code)
    with sample(app_folder, bench.scratch, None, "--restart", "2") as app:
        host = app.start()
        worker = app.get("/admin/host/status")["workerProcessId"]
        start = time.monotonic()
        assert requests.get(f"{app.url}/api/slow", timeout=60).status_code == 500
        assert requests.get(f"{app.url}/api/items/7/a", timeout=60).status_code == 200
        assert time.monotonic() - start >= 1 + 2
        assert app.get("/admin/host/status")["workerProcessId"] != worker
        log = host.log.read_text()
        assert "longer than functionTimeout, 1.0 s" in log
        assert "the next starts in 2 s" in log


@contract_case("SIGTERM lets invocations end, and nothing is delivered again")
def _sigterm(bench: Bench) -> None:
    with container_of(bench) as container, sample("blobs", bench.scratch, bench.settings()) as app:
        host = app.start()
        container.upload_blob("in/long.txt", b"sleep 1.5")
        assert wait_for(lambda: app.notes("begin"))
        assert host.end() == 0
        assert app.ended(1)
        storage = HostStorage(bench.azurite.connection_string, Counter())
        assert storage.count_messages(f"azure-webjobs-blobtrigger-host-{bench.container}") == 0
        app.start()
        assert app.quiet()
        assert len(app.notes("begin")) == 1


@contract_case("unavailable storage: a host with a blob trigger ends after some 30 s, and is started again")
def _restart_without_storage(bench: Bench) -> None:
    assert Pace().patience == 30.0
    with Azurite() as own_azurite, sample("blobs", bench.scratch) as app:
        settings = bench.settings() | {
            "AzureWebJobsStorage": own_azurite.connection_string,
            "CALLS": str(app.scratch / "calls"),
        }
        log = bench.scratch / "host.log"
        with FunctionsHost(app=app.root, environment={**os.environ, **settings}, log=log, patience=1.0) as host:
            own_azurite.stop()
            assert wait_for(lambda: host.restarts)
            assert "An unhandled exception has occurred. Host is shutting down." in log.read_text()
            with Azurite(ports=own_azurite.ports) as back:
                own_bench = Bench(
                    azurite=back,
                    container=bench.container,
                    scratch=bench.scratch,
                    web=bench.web,
                    keys=bench.keys,
                    key=bench.key,
                )
                with container_of(own_bench) as container:
                    container.upload_blob("in/a.txt", b"x")
                assert wait_for(lambda: app.ended(1))
            assert not host.broken


@contract_case("unavailable storage: the receiver continues, and answers 503 with Retry-After")
def _receiver_without_storage(bench: Bench) -> None:
    disabled_functions = {f"AzureWebJobs.{name}.Disabled": "true" for name in ("parser_function", "sweeper_function")}
    body = event("contract", "START", "10:00:00", inputs=["/a"], application="app")
    with Azurite() as own_azurite:
        settings = {**_CATALOG, **disabled_functions, "AzureWebJobsStorage": own_azurite.connection_string}
        with sample(ROOT, bench.scratch, settings, "--patience", "0.5") as app:
            host = app.start()
            assert _post(app, body).status_code == 201
            assert app.get("/admin/host/calls")["storage"] == {}, "a receiver's host makes no call of its own"
            own_azurite.stop()
            for _ in range(3):
                answer = _post(app, body)
                assert answer.status_code == 503
                assert int(answer.headers["Retry-After"]) >= 1
                time.sleep(0.4)
            assert host.process.poll() is None


@contract_case("the project: four functions, two paths for events, no error and no warning")
def _project(bench: Bench) -> None:
    settings = {**_CATALOG, **bench.settings()}
    with sample(ROOT, bench.scratch, settings) as app:
        host = app.start()
        functions = app.get("/admin/host/status")["functions"]
        assert functions == ["lineage_function", "parser_function", "receiver_function", "sweeper_function"]
        paths = ("/api/v1/lineage", "/api/v1/lineage/batch", "/api/v1/lineage/else")
        answered = [requests.post(f"{app.url}{path}", timeout=60).status_code for path in paths]
        assert answered == [400, 400, 404]
        assert host.end() == 0
        assert not [line for line in _lines(host.log) if " ERROR " in line or " WARNING " in line]


def _lines(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if "[host]" in line]


def _post(app: App, body: bytes) -> requests.Response:
    headers = {"Content-Type": "application/json"}
    return requests.post(f"{app.url}/api/v1/lineage", data=body, headers=headers, timeout=60)
