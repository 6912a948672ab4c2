"""Events through the whole local world, against a fixed chain of bare SDK calls on an equally full Azurite."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from shared.bootstrap import assemble
from shared.reporting.status import Status, status
from shared.settings.reading import load
from shared.storage.port import Storage
from tests.bench.figures import Figure, Rounds
from tests.bench.fullness import fullness
from tests.bench.replay import Item, Replay, families
from tests.bench.sizes import Sizes, Steps
from tests.bench.worker import BenchError, Child, chain, child, fill, host_calls, posted_in_order
from throughline.local.azurite import Azurite
from throughline.local.world import World

NAME = "end to end"
_GOAL = ">= 0.6"
_BESIDE = "a fixed chain of SDK calls"
_HOST_THREADS = 8
"""The functions host's default number of threads; the chain gets as many."""
_LOOK_EVERY = 0.25
"""Seconds between two questions to the host, since its answers take CPU time that is measured."""
_WARM_UP_SEED = 1_000_000

Applications = Sequence[Sequence[Item]]


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure events per second until no event is in progress."""
    steps.begin("end to end", sizes.chain_rounds * 2)
    our_rates, chain_rates, with_host, details = [], [], [], []
    events = 0
    with child() as process:
        for turn in range(sizes.chain_rounds):
            applications = Replay(seed=turn).applications(sizes.chain_events)
            events = sum(map(len, applications))
            steps.doing(f"end to end, {events} events through the world")
            seconds, world_details = _world(process, applications, sizes)
            our_rates.append(events / seconds)
            steps.done()
            steps.doing(f"end to end, {events} events through the chain")
            chained, delivered, filled = _chain(process, applications, world_details)
            chain_rates.append(events / chained)
            with_host.append(events / (chained + delivered))
            steps.done()
            details.append(
                {**world_details, "chain_azurite": filled, "events": events, "runs": len(_runs(applications))}
            )
    facts: dict[str, Any] = {
        "benchmark": NAME,
        "unit": "events/s",
        "sizes": {
            "rounds": sizes.chain_rounds,
            "events": events,
            "senders": sizes.senders,
            "threads": _HOST_THREADS,
        },
    }
    return [
        Rounds(ours=our_rates, others=chain_rates).figure(
            name=f"{sizes.senders} senders, until all events have a final state",
            compared_with=_BESIDE,
            details={"rounds": details},
            **facts,
        ),
        Rounds(ours=our_rates, others=with_host).figure(
            name="the same", compared_with=f"{_BESIDE} and the host's own after it", goal=_GOAL, **facts
        ),
    ]


def _runs(applications: Applications) -> set[str]:
    return {item.run for application in applications for item in application}


def _world(process: Child, applications: Applications, sizes: Sizes) -> tuple[float, dict[str, Any]]:
    """Run the world; return the seconds from the first request to the last final state, and the counts then."""
    warm_up = _warm_up()
    with tempfile.TemporaryDirectory() as folder, World(home=Path(folder), usual_ports=False) as world:
        own_storage = assemble(load(catalog=True, environment=world.environment)).storage
        sending = process.pool.submit(posted_in_order, world.functions.url, warm_up, 1)
        _when_final(world, own_storage, sizes.deadline, sending, warm_up)
        storage_before = world.functions.calls()["storage"]

        sending = process.pool.submit(posted_in_order, world.functions.url, applications, sizes.senders)
        end, final_status = _when_final(world, own_storage, sizes.deadline, sending, [*warm_up, *applications])
        calls = world.functions.calls()
        return end - sending.result(), {
            "status": {
                name: getattr(final_status, name) for name in ("received", "published", "skipped", "waiting", "dead")
            },
            "processes": final_status.processes,
            "host_storage_calls": {
                name: count - storage_before.get(name, 0) for name, count in calls["storage"].items()
            },
            "invocations": calls["invocations"],
            "catalog_calls": world.catalog.calls(),
            "azurite": fullness(world.azurite.connection_string),
        }


def _when_final(
    world: World, storage: Storage, patience: float, sending: Future[float], applications: Applications
) -> tuple[float, Status]:
    """Return when (Unix time) all events sent had their final state. Raises BenchError after `patience` seconds.

    The host is asked first: the counts that decide read all of storage, which would slow down the measured work.
    """
    items = [item for application in applications for item in application]
    kept_count = sum(item.kept for item in items)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if sending.done():
            sending.result()  # raises the sender's error
        calls = world.functions.calls()
        parsed = calls["invocations"]["parser_function"]
        if parsed["ok"] >= kept_count and not calls["queued"] and not calls["in_flight"]:
            now = time.time()
            current_status = status(storage)
            if current_status.received >= len(items) and current_status.reconciles and not current_status.in_progress:
                return now, current_status
        time.sleep(_LOOK_EVERY)
    raise BenchError(f"some events had no final state after {patience:.0f} s: {status(storage)}")


def _chain(
    process: Child, applications: Applications, world_details: Mapping[str, Any]
) -> tuple[float, float, dict[str, int]]:
    """Run the chain; return its seconds, the seconds of the host's delivery calls, and how full Azurite is at the end.

    It is as full as the world's was.
    """
    warm_up = _warm_up()
    event_count = sum(map(len, [*applications, *warm_up]))
    runs = len(_runs([*applications, *warm_up]))
    full, calls = world_details["azurite"], world_details["host_storage_calls"]
    # The chain leaves a blob and a row for each event, two rows for each run. Event Grid's delivery leaves no receipts.
    missing_counts = (max(0, full["blobs"] - event_count), max(0, full["rows"] - event_count - 2 * runs))
    # The host listed a container that was half full on average; here it already holds all events.
    takes, looks = calls["get messages"], calls["list blobs"] // 2
    with tempfile.TemporaryDirectory() as folder, Azurite(location=Path(folder)) as azurite:
        connection = azurite.connection_string
        process.run(fill, connection, *missing_counts, _HOST_THREADS)
        process.run(chain, connection, warm_up, _HOST_THREADS)
        process.run(host_calls, connection, warm_up, _HOST_THREADS, takes=1, looks=1)
        chained = process.run(chain, connection, applications, _HOST_THREADS)
        delivered = process.run(host_calls, connection, applications, _HOST_THREADS, takes=takes, looks=looks)
        return chained, delivered, fullness(connection)


def _warm_up() -> Applications:
    """Return a short application to send before the measurement: it makes clients, connections, containers, tables."""
    shortest = min(families(), key=lambda family: len(family.events))
    return [Replay(seed=_WARM_UP_SEED, among=[shortest]).application()]
