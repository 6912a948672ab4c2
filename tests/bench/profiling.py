"""`python -m tests.bench.profiling {decode,receiver,parser}`: profile one thread of this process.

`parser` receives and processes one event after the other, and publishes after each application, as the functions do
when many runs end at once. It also counts the calls to storage and catalog, which take most of the time.
"""

import argparse
import cProfile
import pstats
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.table import Table

from shared.bootstrap import Worker, assemble
from shared.ingest.receiver import Receiver
from shared.publishing.publisher import Publisher
from shared.settings.reading import load
from shared.storage_layout import stored_from_blob
from tests.bench.decode import chain
from tests.bench.figures import ROOT
from tests.bench.replay import Replay, families
from throughline.local.azurite import Azurite
from throughline.local.catalog.server import CatalogServer

_MOST_BYTES = 1 << 26
_EVENTS = 200
_PASSES = 3
_LINES = 25


class Counting:
    """Forwards calls to a port, and counts them."""

    def __init__(self, port: Any, calls: Counter[str]) -> None:
        self._port, self._calls = port, calls

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        def counted(*args: Any, **named: Any) -> Any:
            self._calls[f"{name} {args[0]}" if args and isinstance(args[0], str) else name] += 1
            return method(*args, **named)

        return counted


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.profiling", description=__doc__)
    parser.add_argument("what", choices=["decode", "receiver", "parser"])
    parser.add_argument("--events", type=int, default=_EVENTS, help="how many events receiver and parser get")
    parser.add_argument("--sort", choices=["tottime", "cumtime"], default="tottime")
    parser.add_argument("--lines", type=int, default=_LINES)
    options = parser.parse_args()
    profile = cProfile.Profile()
    if options.what == "decode":
        _decode(profile)
    else:
        _pipeline(profile, events=options.events, parse=options.what == "parser")
    _show(profile, options.sort, options.lines)
    return 0


def _decode(profile: cProfile.Profile) -> None:
    for _ in range(_PASSES):
        for family in families():
            profile.runcall(chain, family)


def _pipeline(profile: cProfile.Profile, *, events: int, parse: bool) -> None:
    calls: Counter[str] = Counter()
    with Azurite() as azurite, CatalogServer() as catalog:
        worker = assemble(
            load(
                catalog=True,
                environment={
                    "AzureWebJobsStorage": azurite.connection_string,
                    "THROUGHLINE_CATALOG_ENDPOINT": catalog.endpoint,
                    "THROUGHLINE_CATALOG_TOKEN": catalog.token,
                },
            )
        )
        replay = Replay()
        _send(worker, replay, len(replay.application()), lambda work, *args: work(*args))  # warms up
        counted = Worker(
            storage=Counting(worker.storage, calls),
            catalog=Counting(worker.catalog, calls),
            names=worker.names,
            publishing=replace(worker.publishing, debounce=timedelta(0)),
            sweeping=worker.sweeping,
        )
        event_count = _send(counted, replay, events, profile.runcall, parse=parse)
    table = Table("call", "an event", box=None, title=f"{event_count} events: calls to storage and catalog")
    for call, count in calls.most_common():
        table.add_row(call, f"{count / event_count:.2f}")
    table.add_row("[bold]all[/]", f"[bold]{calls.total() / event_count:.2f}[/]")
    Console(highlight=False).print(table)


def _send(worker: Worker, replay: Replay, events: int, run: Callable[..., Any], *, parse: bool = True) -> int:
    """Receive and, with `parse`, process and publish each event in turn; return the number of events."""

    def both(raw: bytes, packed_body: bytes, blob: str) -> None:
        Receiver(storage=worker.storage, max_body_bytes=_MOST_BYTES).receive(raw)
        if parse:
            worker.delivery.deliver(stored_from_blob(blob), packed_body)

    event_count = 0
    for application in replay.applications(events):
        for item in application:
            if item.kept:
                run(both, item.raw, item.packed, item.blob)
                event_count += 1
        if parse:
            run(Publisher(context=worker).publish)
    return event_count


def _show(profile: cProfile.Profile, sort: str, lines: int) -> None:
    statistics = pstats.Stats(profile, stream=sys.stdout)
    statistics.sort_stats(sort)
    statistics.print_stats(lines)
    if sort == "cumtime":
        return
    sys.stdout.write("\nOur own code only, including the time of its callees:\n")
    statistics.sort_stats("cumtime")
    statistics.print_stats(str(ROOT / "shared"), lines)


if __name__ == "__main__":
    sys.exit(main())
