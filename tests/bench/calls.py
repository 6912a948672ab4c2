"""Calls to the local catalog, over HTTP, for each process that is new, changed or unchanged, against one call for each.

Each process reads two tables of a lake and writes one of its own. No scan has found any of them, so each is looked up,
searched for and created as a placeholder: the case with the most calls.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.bootstrap import assemble
from shared.ingest.receiver import Receiver
from shared.openlineage.decoding import decode
from shared.publishing.publisher import Publisher
from shared.settings.reading import load
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, digest_of, stored
from tests.bench.figures import Figure
from tests.bench.sizes import Sizes, Steps
from tests.bench.worker import BenchError
from throughline.local.catalog.server import CatalogServer

NAME = "calls"
_LAKE = "abfss://raw@bench.dfs.core.windows.net"
_BEGAN = datetime(2026, 11, 21, tzinfo=UTC)
_NOWHERE = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:1/a"


_ROUNDS = (("new", 0, 0), ("unchanged", 1, 0), ("changed", 2, 1))
"""The case (new, unchanged, changed), the number of the job's run, and the table that it reads beside the first."""


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure new, unchanged and changed processes, and new ones without a search for data sets."""
    steps.begin("calls to the catalog", len(_ROUNDS) + 1)
    with CatalogServer() as server:
        figures = _measure(server, sizes.call_processes, steps, _ROUNDS)
        server.reset()
        settings = {"THROUGHLINE_FIND_BY_SEARCH": "false"}
        (new,) = _measure(server, sizes.call_processes, steps, _ROUNDS[:1], settings)
    return [*figures, replace(new, name=f"{new.name}, no search")]


def _measure(
    server: CatalogServer,
    processes: int,
    steps: Steps,
    rounds: Sequence[tuple[str, int, int]],
    settings: Mapping[str, str] | None = None,
) -> list[Figure]:
    storage, figures = MemoryStorage(), []
    parts = assemble(load(catalog=True, environment=_environment(server), overrides=settings))
    for name, number, source in rounds:
        for event in events(processes, number, source):
            arrives(storage, event)
        server.reset_calls()
        publish_result = Publisher(context=replace(parts, storage=storage)).publish()
        if publish_result.error or publish_result.written != (0 if name == "unchanged" else processes):
            raise BenchError(f"{name}: {publish_result}")
        figures.append(_figure(name, server.calls(), processes))
        steps.done()
    return figures


def _environment(server: CatalogServer) -> dict[str, str]:
    return {
        "AzureWebJobsStorage": _NOWHERE,
        "THROUGHLINE_CATALOG_ENDPOINT": server.endpoint,
        "THROUGHLINE_CATALOG_TOKEN": server.token,
        "THROUGHLINE_MAX_CATALOG_RATE": "0",
    }


def _figure(name: str, calls: dict[str, Any], processes: int) -> Figure:
    total = sum(calls["by_verb"].values())
    return Figure(
        benchmark=NAME,
        name=f"{name} process",
        value=total / processes,
        unit="calls",
        compared_with="one call for each process",
        other=1.0,
        ratio=total / processes,
        goal="<= 0" if name == "unchanged" else "",
        sizes={"processes": processes},
        details={"calls": total, "by_verb": calls["by_verb"]},
    )


def events(processes: int, number: int, source: int | None = None) -> Iterable[bytes]:
    """Return the events of one run of each job; a higher `number` is later. `source`: a second table that it reads.

    All data sets have different names: equal ones would share a search.
    """
    for job in range(processes):
        run, application = (str(UUID(int=(kind << 96) + (number << 32) + job, version=4)) for kind in (1, 2))
        parent = {"run": {"runId": application}, "job": {"namespace": "bench", "name": f"job{job}"}}
        body = {
            "eventType": "COMPLETE",
            "eventTime": (_BEGAN + timedelta(hours=number)).isoformat(),
            "run": {"runId": run, "facets": {"parent": parent}},
            "job": {"namespace": "bench", "name": f"job{job}.execute_insert_into_hadoop_fs_relation_command.out"},
            "inputs": [
                {"namespace": _LAKE, "name": f"/in/{input_name}{job:05}"}
                for input_name in ("a", f"b{source}x")[: 1 + (source is not None)]
            ],
            "outputs": [{"namespace": _LAKE, "name": f"/out/made{job:05}"}],
        }
        yield json.dumps(body).encode()


def arrives(storage: MemoryStorage, raw: bytes) -> None:
    """Receive and process an event."""
    Receiver(storage=storage, max_body_bytes=1 << 20).receive(raw)
    event = decode(raw)
    place = stored(event, digest_of(raw))
    if not Delivery(processor=ApplicationProcessor(storage=storage)).deliver(
        place, storage.get(EVENTS, place.blob) or b""
    ):
        raise BenchError("an event of the benchmark was not processed")
