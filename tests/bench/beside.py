"""`python -m tests.bench.beside COMMIT`: end to end, another commit beside this tree, and what bounds both.

Both sides take turns with the same captured events (those of the other commit), in the local world and without its
host: there receiver, parser and publisher run as threads of one process. Beside events per second the table has the
CPU of each process for an event, which other load of the machine changes much less. The last rows are the limit: what
the emulators of Azure would still take if our functions took no CPU, and called no storage after the receiver.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from shutil import copytree
from statistics import median
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from shared.adapters import StorageRetryPolicy, storage_at
from shared.settings.reading import load
from shared.storage.port import Row
from tests.bench import side
from tests.bench.figures import ROOT
from tests.bench.worker import QUEUE
from throughline.local.azurite import Azurite
from throughline.local.azurite.server import YOUNG_SPACE
from throughline.local.host.storage import HostStorage

_MODES = {"world": "the whole local world", "process": "without the functions host"}
_OURS = "functions"
_INSTALLED = ("azurite", "v1runtime")
_PAYLOAD = os.urandom(900)
"""As large as a captured event is when it is packed, on average."""
_PATIENT = StorageRetryPolicy(tries=4, connect=5, read=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A round of one side: its events, seconds, CPU seconds by process, and the host's own calls by kind."""

    events: int
    seconds: float
    cpu: Mapping[str, float]
    host_calls: Mapping[str, int]

    @property
    def milliseconds(self) -> dict[str, float]:
        """CPU milliseconds for an event by process."""
        return {name: 1000 * seconds / self.events for name, seconds in self.cpu.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (these arguments, else the process's own) and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.beside", description=__doc__)
    parser.add_argument("commit", help="the other side, since 24 November 2026")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, default=300, help="of a round")
    parser.add_argument("--calls", type=int, default=200, help="of each kind to Azurite, for the limit")
    parser.add_argument("--modes", nargs="+", choices=list(_MODES), default=list(_MODES))
    options = parser.parse_args(arguments)
    console = Console(highlight=False, width=120)
    try:
        calls = _azurite_calls(options.calls)
        with _tree(options.commit) as other:
            for mode in options.modes:
                rounds: list[tuple[Round, Round]] = []
                for seed in range(1, options.rounds + 1):
                    with console.status(f"{_MODES[mode]}, round {seed} of {options.rounds}"):
                        run = partial(_round, mode, seed, options.events, other / "tests" / "golden")
                        rounds.append((run(other), run(ROOT)))
                _show(console, mode, rounds, calls)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"error: {error}; what it wrote says why\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


@contextmanager
def _tree(commit: str) -> Iterator[Path]:
    """The files of a commit, with what this tree has installed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
        for installed in _INSTALLED:
            copytree(ROOT / "build" / installed, folder / "build" / installed)
        yield folder


def _round(mode: str, seed: int, events: int, golden: Path, tree: Path) -> Round:
    command = [sys.executable, "-P", side.__file__, mode, str(seed), str(events), str(golden)]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}  # else each start compiles
    environment["NODE_OPTIONS"] = YOUNG_SPACE  # of both sides' Azurite
    answer = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, check=True).stdout
    return Round(**json.loads(answer.splitlines()[-1]))


def _show(
    console: Console, mode: str, rounds: Sequence[tuple[Round, Round]], azurite_calls: Mapping[str, float]
) -> None:
    def row(name: str, value: Callable[[Round], float], *, is_rate: bool = False) -> None:
        others, ours = [value(other) for other, _ in rounds], [value(our) for _, our in rounds]
        ratios = [our / other if is_rate else other / our for other, our in zip(others, ours, strict=True) if our]
        ratio = f"{median(ratios):.2f}" if ratios and any(others) else ""
        spread = ", ".join(f"{ratio:.2f}" for ratio in ratios) if ratio else ""
        table.add_row(name, f"{median(others):.2f}", f"{median(ours):.2f}", ratio, spread)

    table = Table("", "other", "this tree", "times better", "rounds", box=None, title=_MODES[mode])
    row("events a second", lambda measured: measured.events / measured.seconds, is_rate=True)
    processes = sorted({process for pair in rounds for measured in pair for process in measured.cpu})
    for process in processes:
        row(f"CPU ms an event: {process}", partial(_milliseconds, process=process))
    row("all processes", lambda measured: sum(measured.milliseconds.values()))
    row("events a second, if nothing else ran", lambda measured: _possible_rate(measured.milliseconds), is_rate=True)
    limits = [_limit(our, azurite_calls) for _, our in rounds]
    rates = [_possible_rate(limit) for limit in limits]
    others = [_possible_rate(other.milliseconds) for other, _ in rounds]
    ratio = median(rate / other for rate, other in zip(rates, others, strict=True))
    table.add_row("limit: all processes", "", f"{median(sum(limit.values()) for limit in limits):.2f}")
    table.add_row("limit: events a second, if nothing else ran", "", f"{median(rates):.2f}", f"{ratio:.2f}")
    console.print(table)
    console.print(
        "Azurite, CPU ms a call: "
        + ", ".join(f"{name} {milliseconds:.2f}" for name, milliseconds in azurite_calls.items()),
        soft_wrap=True,
    )


def _milliseconds(measured: Round, process: str) -> float:
    return measured.milliseconds.get(process, 0.0)


def _possible_rate(milliseconds: Mapping[str, float]) -> float:
    """Events a second by the CPU of an event, if it waited for nothing: all processes share the cores, and none uses
    more than one (Azurite has one thread for requests, Python one that computes).
    """
    return 1000 / max(*milliseconds.values(), sum(milliseconds.values()) / (os.cpu_count() or 1))


def _limit(measured: Round, azurite_calls: Mapping[str, float]) -> dict[str, float]:
    """CPU ms for an event of all processes but our functions; Azurite's for the host's calls and the receiver's two."""
    host = {name: number / measured.events for name, number in measured.host_calls.items()} or {"get blob": 1.0}
    azurite = azurite_calls["put blob"] + azurite_calls["insert row"]
    azurite += sum(azurite_calls.get(name, 0.0) * number for name, number in host.items())
    others = {name: value for name, value in measured.milliseconds.items() if name not in {_OURS, "azurite"}}
    return {**others, "azurite": azurite}


def _azurite_calls(number: int) -> dict[str, float]:
    """Azurite's CPU ms for each kind of call of receiver and host; a listing, which grows with its blobs, is none."""
    names, messages = count(), list[Any]()
    with tempfile.TemporaryDirectory() as folder, Azurite(location=Path(folder)) as azurite:
        connection = azurite.connection_string
        storage = storage_at(load(catalog=False, environment={"AzureWebJobsStorage": connection}).storage, _PATIENT)
        host = HostStorage(connection, Counter())
        host.create_queue(QUEUE)
        storage.put_new("bench", "read", _PAYLOAD)
        calls: dict[str, Callable[[], object]] = {
            "put blob": lambda: storage.put_new("bench", f"{next(names)}", _PAYLOAD),
            "insert row": lambda: storage.insert(
                "bench", Row(partition="p", key=f"{next(names)}", values={"payload": _PAYLOAD})
            ),
            "get blob": lambda: host.get_blob("bench", "read"),
            "put message": lambda: host.put_message(QUEUE, {"BlobName": "n" * 150}),
            "get messages": lambda: messages.extend(host.get_messages(QUEUE, 1, 60)),
            "delete message": lambda: host.delete_message(QUEUE, messages.pop()),
        }
        for name in ("put blob", "insert row", "get blob", "put message"):
            for _ in range(number // 5):
                calls[name]()
        return {name: _cpu_of(call, number) for name, call in calls.items()}


def _cpu_of(call: Callable[[], object], number: int) -> float:
    """Azurite's milliseconds for a call, on average of this many."""

    def seconds() -> float:
        return sum(
            sum(process.cpu_times()[:2])
            for process in psutil.Process().children(recursive=True)
            if "azurite" in " ".join(process.cmdline())
        )

    began = seconds()
    for _ in range(number):
        call()
    return 1000 * (seconds() - began) / number


if __name__ == "__main__":
    sys.exit(main())
