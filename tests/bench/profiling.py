"""`python -m tests.bench.profiling {decode,stages,receiver,parser}`: profile one thread of this process.

`stages` shows what each stage of the core costs, run by run, of the captures with Spark's plans and of the others. It
times each stage alone, on all runs of a capture; the stages of a run one after the other find less in the processor's
caches.
`parser` receives and processes one event after the other, and publishes after each application, as the functions do
when many runs end at once. It also counts the calls to storage and catalog, which take most of the time.
"""

import argparse
import cProfile
import gc
import pstats
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import orjson
from rich.console import Console
from rich.table import Table

from shared.atlas.entities import process_entity
from shared.bootstrap import Worker, assemble
from shared.gc_tuning import tune_gc
from shared.ingest.receiver import Receiver
from shared.model import RunLineage
from shared.openlineage.decoding import decode
from shared.openlineage.merging import merge
from shared.openlineage.wire import RunEvent
from shared.publishing.publisher import Publisher
from shared.settings.reading import load
from shared.storage_layout import stored_from_blob
from shared.translation.run.columns import merge_run
from shared.translation.run.translate import translate
from tests.bench.decode import PLANS, chain, runs_of
from tests.bench.figures import ROOT
from tests.bench.replay import Family, Replay, families
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
    parser.add_argument("what", choices=["decode", "stages", "receiver", "parser"])
    parser.add_argument("--events", type=int, default=_EVENTS, help="how many events receiver and parser get")
    parser.add_argument("--sort", choices=["tottime", "cumtime"], default="tottime")
    parser.add_argument("--lines", type=int, default=_LINES)
    options = parser.parse_args()
    if options.what == "stages":
        _stages()
        return 0
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


_ROUNDS = 5
_BYTES = 300_000
"""What a round reads of each capture, by repeating it."""

_read = msgspec.json.Decoder(RunEvent).decode


def _stages() -> None:
    """Show what each stage costs, and their sum."""
    tune_gc()
    for with_plans in (False, True):
        captures = [family for family in families() if (PLANS in family.name) == with_plans]
        seconds: defaultdict[str, float] = defaultdict(float)
        for family in captures:
            works, times = _works(family), max(1, _BYTES // family.size)
            rounds = [[_seconds(function, values, times) for _, function, values in works] for _ in range(_ROUNDS)]
            for (name, *_), durations in zip(works, zip(*rounds, strict=True), strict=True):
                seconds[name] += min(durations)
        seconds["plans"] = seconds["merge, plans"] - seconds["merge"]
        seconds["sum"] = sum(seconds[name] for name in ("decode", "merge, plans", "translate", "entities"))
        table = Table(
            "stage", "us/event", "of orjson.loads", box=None, title=f"{'with' * with_plans or 'without'} plans"
        )
        events = sum(len(family.events) for family in captures)
        for name, duration in seconds.items():
            table.add_row(name, f"{duration / events * 1e6:.2f}", f"{duration / seconds['orjson.loads']:.2f}")
        Console(highlight=False).print(table)


def _works(family: Family) -> list[tuple[str, Callable[[Any], object], Sequence[Any]]]:
    """The stages of a capture, each with the values that the one before it gave."""
    events = [decode(raw) for raw in family.events]
    whole = [raw for raw, event in zip(family.events, events, strict=True) if event.body and not event.omitted]
    runs = runs_of(events)
    merged = [merge_run(run) for run in runs]
    lineages = [lineage for lineage in map(translate, merged) if isinstance(lineage, RunLineage)]
    processes = [process for lineage in lineages for process in lineage.processes]
    return [
        ("orjson.loads", orjson.loads, family.events),
        ("msgspec, of valid events", _read, whole),
        ("decode", decode, family.events),
        ("merge", merge, runs),
        ("merge, plans", merge_run, runs),
        ("translate", translate, merged),
        ("entities", process_entity, processes),
    ]


def _seconds(function: Callable[[Any], object], values: Sequence[Any], times: int) -> float:
    """CPU seconds of one repetition: the mean over `times`."""
    gc.collect()
    start = time.process_time()
    for _ in range(times):
        [function(value) for value in values]  # kept until all are done, as the benchmark keeps what `orjson` gives
    return (time.process_time() - start) / times


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
