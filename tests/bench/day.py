"""`python -m tests.bench.day`: a simulated day of events under Azure's published limits, by measured counts.

Events come second by second, with a peak at night; the receiver's requests are made at once, those behind it may wait.
Two limits hold in each second: the requests of the account, and the rows of the publish queue's partition. What exceeds
them waits, in the order of arrival. Where the receiver's requests alone exceed the account's limit, it is throttled:
these events are counted, since a listener tries only once more. Requests are those of `tests.bench.costs` for jobs that
have run before, rows those of `tests.bench.runtime_calls` for an unchanged daily rerun.
"""

import argparse
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from shared.storage_layout import PUBLISH_QUEUE
from tests.bench import costs
from tests.bench.host_calls import ACCOUNT_REQUESTS, DELIVERIES, calls_of
from tests.bench.runtime_calls import SCENARIOS

PARTITION_ROWS = 2000
"""Rows per second of one partition: https://learn.microsoft.com/azure/storage/tables/scalability-targets."""
SECONDS = 24 * 3600
_PEAK_HOUR = 2
_PEAK_WIDTH = 1.5  # hours: the standard deviation of the arrivals about the peak


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What one event needs: requests of the receiver, requests behind it, rows of the publish queue."""

    receiver: float
    behind: float
    queue_rows: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """How a day went: events; the most in one second; the longest wait for lineage in seconds, and for how many seconds
    of the day it was over a minute; the most events that waited at once; events for which the receiver was throttled.
    """

    events: int
    most_a_second: int
    longest_wait: float
    late_seconds: int
    most_waiting: int
    throttled: int


def arrivals(events: float, peak: float, seed: int) -> Iterator[int]:
    """Yield the events of each second: `peak` times the mean at the peak, evenly apart from it."""
    numbers = random.Random(seed)
    bell = [
        math.exp(-(((second / 3600 - _PEAK_HOUR + 12) % 24 - 12) ** 2) / (2 * _PEAK_WIDTH**2))
        for second in range(SECONDS)
    ]
    mean, share = events / SECONDS, sum(bell) / SECONDS
    height = (peak - 1) / (1 - share)  # above the base, in units of the mean, so that all add up to the mean
    base = 1 - height * share
    for value in bell:
        rate = mean * (base + height * value)
        yield max(0, round(numbers.gauss(rate, math.sqrt(rate))))


def simulate(needs: Needs, *, events: float, peak: float, accounts: int = 1, shards: int = 1, seed: int = 1) -> Day:
    """Live through a day. Events are spread evenly over accounts, and marks over the shards of a queue."""
    budget, row_budget = float(ACCOUNT_REQUESTS * accounts), float(PARTITION_ROWS * shards * accounts)
    waiting: list[tuple[int, float]] = []  # second of arrival and number, the oldest at `head`
    head, number_waiting = 0, 0.0
    total = most = late = throttled = 0
    longest, most_waiting = 0.0, 0.0
    for second, number in enumerate(arrivals(events, peak, seed)):
        accepted = min(number, budget / needs.receiver)
        throttled += round(number - accepted)
        waiting.append((second, accepted))
        number_waiting += accepted
        requests_left = budget - accepted * needs.receiver
        capacity = min(number_waiting, requests_left / needs.behind, row_budget / needs.queue_rows)
        number_waiting -= capacity
        while capacity > 0 and head < len(waiting):
            arrival, count = waiting[head]
            part = min(capacity, count)
            capacity -= part
            if part < count:
                waiting[head] = (arrival, count - part)
            else:
                head += 1
        wait = second - waiting[head][0] if head < len(waiting) and number_waiting >= 1 else 0
        total, most = total + number, max(most, number)
        longest, most_waiting = max(longest, wait), max(most_waiting, number_waiting)
        late += wait > 60
    return Day(
        events=total,
        most_a_second=most,
        longest_wait=longest,
        late_seconds=late,
        most_waiting=round(most_waiting),
        throttled=throttled,
    )


def measured_needs(delivery: str) -> Needs:
    """Measure what an event needs: a job that has run before, received, processed, published and archived."""
    phases = {phase: sum(counts.values()) - counts.get("catalog", 0) for phase, counts in costs.measure().items()}
    life = {phase.rpartition(": ")[2]: count for phase, count in phases.items() if phase.startswith(costs.LIVES[-1])}
    scenario = SCENARIOS["unchanged daily rerun"]()
    behind = life["parser"] + life["publisher"] + phases["archive"] + calls_of(delivery).total()
    return Needs(receiver=life["receiver"], behind=behind, queue_rows=scenario.rows[PUBLISH_QUEUE] / scenario.events)


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.day", description=__doc__)
    parser.add_argument("--events", type=float, default=50e6, help="events of the day (50,000,000)")
    parser.add_argument("--delivery", choices=DELIVERIES, default=DELIVERIES[0])
    options = parser.parse_args()
    needs = measured_needs(options.delivery)
    sys.stdout.write(
        f"an event: {needs.receiver:.1f} requests of the receiver, {needs.behind:.1f} behind it, "
        f"{needs.queue_rows:.2f} rows of the publish queue\n"
    )
    table = Table(
        *(
            "peak",
            "accounts",
            "shards",
            "most a second",
            "longest wait",
            "minutes later than one",
            "most waiting",
            "throttled",
        ),
        box=None,
        title=f"a day of {options.events:,.0f} events",
    )
    for peak, accounts, shards in ((1, 1, 1), (2, 1, 1), (3, 1, 1), (3, 1, 16), (3, 2, 1), (6, 1, 1), (6, 4, 1)):
        day = simulate(needs, events=options.events, peak=peak, accounts=accounts, shards=shards)
        table.add_row(
            *(f"{peak}", f"{accounts}", f"{shards}", f"{day.most_a_second:,}", f"{day.longest_wait / 60:,.0f} min"),
            *(f"{day.late_seconds / 60:,.0f}", f"{day.most_waiting:,}", f"{day.throttled:,}"),
        )
    Console(highlight=False, width=140).print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
