"""`python -m tests.bench.month`: what a month of the recommended deployment costs, by measured counts and your prices.

Requests are those of `tests.bench.costs` and `tests.bench.host_calls`, logs those of `tests.bench.logs`, for jobs that
have run before; machines, rules and tests are those of infra/main.bicep with its defaults. Prices are in a file:
tests/bench/prices.toml.
"""

import argparse
import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench import costs, logs
from tests.bench.host_calls import calls_of
from tests.bench.replay import Replay, families

ROOT = Path(__file__).parents[2]
PRICES = ROOT / "tests/bench/prices.toml"

_HOURS = 730
_MACHINES = 2
_DAYS = 30
_PLACES, _CALLS_AN_HOUR = 3, 12
_SERIES = 9
"""Time series of the rules over metrics: six kinds of throttling, two of the receiver, one of the test."""
_GIGABYTE = 10**9

Counts = Mapping[str, Mapping[str, float]]
"""Requests for each event, by phase and class, as `tests.bench.costs` measures them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """A line of the bill: how many of a thing, and what they cost in the file's currency."""

    name: str
    quantity: float
    unit: str
    amount: float


def quantities(requests: Counts, log_bytes: float, event_bytes: float, events: float) -> dict[str, float]:
    """Return how much of each priced thing a month with so many events uses.

    `requests` are for each event (`idle sweep`: for each tick), `log_bytes` of the month, `event_bytes` of one event.
    """
    usage: defaultdict[str, float] = defaultdict(float)
    for phase, by_class in requests.items():
        for kind, count in by_class.items():
            usage[kind] += count * (logs.TICKS if phase == "idle sweep" else events)
    for kind, count in calls_of("eventGrid").items():
        usage[kind] += count * events
    return {
        "machine": _MACHINES * _HOURS,
        "table": usage["table"],
        "write": usage["blob write"] + usage["blob list"],
        "read": usage["blob read"],
        "other": usage["blob other"],
        "queue": usage["queue"],
        "notice": events,
        "stored": event_bytes * events / _GIGABYTE,
        "logs": log_bytes / _GIGABYTE,
        "rule": len(json.loads((ROOT / "infra/alerts.json").read_text(encoding="utf-8"))["log"]),
        "series": _SERIES,
        "test": _PLACES * _CALLS_AN_HOUR * _HOURS,
    }


def bill(usage: Mapping[str, float], prices: Mapping[str, Mapping[str, Any]]) -> tuple[BillLine, ...]:
    """Return a line for each price of the file. Raises KeyError for a thing without a price, or the reverse."""
    if missing := usage.keys() ^ prices.keys():
        raise KeyError(*sorted(missing))
    return tuple(
        BillLine(name=name, quantity=usage[name], unit=row["unit"], amount=usage[name] / row["per"] * row["price"])
        for name, row in prices.items()
    )


def measured(events: float) -> dict[str, float]:
    """Measure requests and logs of jobs that have run before, and return what a month of them uses."""
    measured_requests = costs.measure()
    repeated, idle = costs.LIVES[1], "idle sweep"
    requests = {
        phase: counts
        for phase, counts in measured_requests.items()
        if phase in {"archive", idle} or phase.startswith(repeated)
    }
    volumes = logs.measure()
    log_bytes = sum(
        volume.bytes * (1 if phase == idle else events / 1_000_000)
        for phase, tables in volumes.items()
        for table, volume in tables.items()
        if phase in requests and table.startswith("App")
    )
    jobs = {f"{costs.CAPTURE}/{job}" for job in costs.JOBS}
    scenarios = [family for family in families() if family.name in jobs]
    replay = Replay(seed=1, among=scenarios)
    sizes = [len(item.packed) for _ in scenarios for item in replay.application()]
    return quantities(requests, log_bytes, sum(sizes) / len(sizes), events)


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.month", description=__doc__)
    parser.add_argument("--events-a-day", type=int, default=100_000, metavar="N", help="100000 if not given")
    parser.add_argument(
        "--prices", type=Path, default=PRICES, metavar="FILE", help="tests/bench/prices.toml if not given"
    )
    options = parser.parse_args()
    file = tomllib.loads(options.prices.read_text(encoding="utf-8"))
    lines = bill(measured(options.events_a_day * _DAYS), file["prices"])
    title = f"{options.events_a_day * _DAYS:,} events in {file['month']}, {file['region']}"
    table = Table("", "quantity", "unit", file["currency"], box=None, title=title)
    for line in lines:
        table.add_row(line.name, f"{line.quantity:,.1f}", line.unit, f"{line.amount:.2f}")
    table.add_row("together", "", "", f"{sum(line.amount for line in lines):.2f}")
    Console(highlight=False, width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
