"""One side of `tests.bench.beside`: run in the tree of a commit, old or new, it prints what a round took as JSON.

It names only what all layouts of the project since November 2026 have. Arguments: the mode, a seed, a number of
events, and the folder of the captured events.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import psutil

THREADS = 8
"""Of senders, and of the parser."""
_WARM_UP = 60
"""Events."""
_WARM_UP_SEED = 1_000_007
_MOST_BYTES = 1 << 26
_LOOK_EVERY = 0.25
_PATIENCE = 60.0
_TRIES = 10
_NEW = Path("throughline/local").is_dir()
_BENCH, _LOCAL = ("tests.bench", "throughline.local") if _NEW else ("bench", "local")
_PROCESSES = {
    "azurite": "azurite",
    "worker.process": "functions",
    f"{_LOCAL}.catalog": "catalog",
    f"{_LOCAL}.host": "host",
}
"""Parts of command lines, the first that fits counts, and what these processes are."""

Applications = tuple[tuple[Any, ...], ...]


@dataclass(slots=True)
class _Cpu:
    """CPU seconds by process: of all that have been started, and of this one under the name `own`."""

    own: str

    def __call__(self) -> dict[str, float]:
        seconds = {self.own: sum(psutil.Process().cpu_times()[:2])}
        for process in psutil.Process().children(recursive=True):
            command = " ".join(process.cmdline())
            kind = next((name for part, name in _PROCESSES.items() if part in command), "")
            if kind and "leash.py" not in command:
                seconds[kind] = seconds.get(kind, 0.0) + sum(process.cpu_times()[:2])
        return seconds


def main() -> int:
    """Measure a round, and print it."""
    mode, seed, events, golden = sys.argv[1:]
    replay: Any = import_module(f"{_BENCH}.replay")
    replay.GOLDEN = Path(golden)
    warm_up = replay.Replay(seed=_WARM_UP_SEED).applications(min(_WARM_UP, int(events)))
    applications = replay.Replay(seed=int(seed)).applications(int(events))
    with {"world": _world, "process": _process}[mode]() as (send, cpu, calls):
        send(warm_up)
        cpu_before, calls_before, began = cpu(), calls(), time.monotonic()
        send(applications)
        seconds = time.monotonic() - began
        used = {name: seconds - cpu_before.get(name, 0.0) for name, seconds in cpu().items()}
        made = {name: count - calls_before.get(name, 0) for name, count in calls().items()}
    number = sum(map(len, applications))
    sys.stdout.write(json.dumps({"events": number, "seconds": seconds, "cpu": used, "host_calls": made}) + "\n")
    return 0


_Side = tuple[Callable[[Applications], None], _Cpu, Callable[[], Mapping[str, int]]]


@contextmanager
def _world() -> Iterator[_Side]:
    """The whole local world. Sending ends when the functions have nothing more to do."""
    world_module = import_module(f"{_LOCAL}.world")
    delivered = 0
    with tempfile.TemporaryDirectory() as folder, world_module.World(home=Path(folder), usual_ports=False) as world:

        def send(applications: Applications) -> None:
            nonlocal delivered
            delivered += sum(item.kept for application in applications for item in application)
            with ThreadPoolExecutor(THREADS) as senders:
                list(senders.map(partial(_post, urlsplit(world.functions.url).netloc), applications))
            while True:
                state = world.functions.calls()
                parsed = state["invocations"]["parser_function"]["ok"]
                if parsed >= delivered and not state["queued"] and not state["in_flight"]:
                    return
                time.sleep(_LOOK_EVERY)

        yield send, _Cpu("senders, Event Grid"), lambda: world.functions.calls()["storage"]


def _post(address: str, application: tuple[Any, ...]) -> None:
    """Post events in their order, an event that is answered by a 429 or 503 again. Raises ValueError."""
    connection = HTTPConnection(address, timeout=_PATIENCE)
    for item in application:
        for _ in range(_TRIES):
            connection.request("POST", "/api/v1/lineage", item.raw, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status not in {429, 503}:
                break
        if answer.status != HTTPStatus.CREATED:
            raise ValueError(f"the receiver answered {answer.status}")
    connection.close()


@contextmanager
def _process() -> Iterator[_Side]:
    """Receiver, parser and publisher in this process, with threads in place of the host, and Azurite."""
    azurite_module, server = import_module(f"{_LOCAL}.azurite"), import_module(f"{_LOCAL}.catalog.server")
    publisher = import_module("shared.publishing.publisher").Publisher
    receiver = import_module("shared.ingest.receiver").Receiver
    with (
        tempfile.TemporaryDirectory() as folder,
        azurite_module.Azurite(location=Path(folder)) as azurite,
        server.CatalogServer() as catalog,
    ):
        environment = {
            "AzureWebJobsStorage": azurite.connection_string,
            "THROUGHLINE_CATALOG_ENDPOINT": catalog.endpoint,
            "THROUGHLINE_CATALOG_TOKEN": catalog.token,
        }
        settings = import_module("shared.settings.reading").load(catalog=True, environment=environment)
        parts: Any = import_module("shared.bootstrap").assemble(settings)
        receive = receiver(storage=parts.storage, max_body_bytes=_MOST_BYTES).receive

        def send(applications: Applications) -> None:
            queue: SimpleQueue[str | None] = SimpleQueue()

            def send_one(application: tuple[Any, ...]) -> None:
                for item in application:
                    receive(item.raw)
                    if item.kept:
                        queue.put(item.blob)

            with ThreadPoolExecutor(THREADS) as senders, ThreadPoolExecutor(THREADS) as parsers:
                parsing = [parsers.submit(_parse, parts, queue) for _ in range(THREADS)]
                list(senders.map(send_one, applications))
                for _ in parsing:
                    queue.put(None)
                for parser in parsing:
                    parser.result()
            publisher(context=parts).publish()

        yield send, _Cpu("functions"), dict


def _parse(parts: Any, queue: "SimpleQueue[str | None]") -> None:
    """Deliver the blobs of a queue as the parser does, until there is None."""
    layout, publisher = import_module("shared.storage_layout"), import_module("shared.publishing.publisher").Publisher
    conflict = import_module("shared.errors").WriteConflict
    while (blob := queue.get()) is not None:
        body, place = parts.storage.get(layout.EVENTS, blob), layout.stored_from_blob(blob)
        try:
            marked = parts.delivery.deliver(place, body) if _NEW else parts.processor.receive(place, body)
        except conflict:
            queue.put(blob)  # as the host does
            continue
        if marked:
            own = publisher(context=parts)
            publish = partial(own.publish, looks=False) if _NEW else own.publish
            parts.publisher.run(getattr(own, "publish_marks", publish))  # so called before that parameter


if __name__ == "__main__":
    sys.exit(main())
