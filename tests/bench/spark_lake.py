"""The lake on this machine: from a folder in the archive's layout to gold, stage by stage.

Each measurement runs in a child process (tests/bench/spark_child.py), so that memory and start time are its own; the
child prints lines of JSON. build/bench-spark.json is updated after every measurement. A measurement that takes longer
than `--limit` is stopped, and its figures so far are kept.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.bench.figures import ROOT
from tests.synth.histories import synthesize
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.versions import SPARK_3

HOME = ROOT / "build" / "bench-spark"
TEMPLATES = ROOT / "tests" / "golden" / "spark35-ol1.53"
FOUND = ROOT / "build" / "bench-spark.json"

SPARK, SAIL = "spark", "sail"

_HANDFUL = 100
_LOOKS = 2.0
"""Seconds between two samples of the memory: each slows the measured processes a little."""

Results = Iterator[tuple[str, Any]]
"""The measurements of a step, one by one: each is stored when it is complete."""


class _SlowError(Exception):
    """A measurement exceeded its time limit; the argument holds its figures so far."""

    def __init__(self, details: dict[str, Any]) -> None:
        super().__init__(f"stopped after {details['stopped_after']} s")
        self.seen = details


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the figures also go to build/bench-spark.json."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.spark_lake", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="how many events the largest lake has")
    parser.add_argument("--steps", nargs="+", default=list(_STEPS), choices=["estates", *_STEPS])
    parser.add_argument("--edges", type=int, default=1_000_000, help="column edges for the measurement of impact")
    parser.add_argument(
        "--cores-events",
        type=int,
        default=0,
        help="events for the steps on one and two cores (default: a quarter of all)",
    )
    parser.add_argument("--engines", nargs="+", default=[SAIL, SPARK], choices=[SAIL, SPARK], help="of increments")
    parser.add_argument(
        "--seed",
        type=int,
        default=2,
        help="seed of the additional events: a different one for each run on the same lake",
    )
    parser.add_argument("--limit", type=int, default=1_800, help="seconds that one measurement may take")
    options = parser.parse_args(arguments)
    options.cores_events = options.cores_events or options.events // 4
    HOME.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    for step in options.steps:
        results[step] = {}
        try:
            for name, value in _STEPS.get(step, _estates)(options, results):
                results[step][name] = value
                _keep(results, step, name)
        except _SlowError as error:
            results[step]["stopped"] = error.seen
            _keep(results, step, "stopped")
    return 0


def _keep(results: dict[str, Any], step: str, name: str) -> None:
    FOUND.write_text(json.dumps(results, indent=1) + "\n")
    sys.stdout.write(f"{step}, {name}: {json.dumps(results[step][name])}\n")
    sys.stdout.flush()


def _say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


def _estate(events: int, seed: int = 1) -> Path:
    """Return a synthetic archive of `events` events, made once."""
    folder = HOME / (f"estate-{events}" if seed == 1 else f"estate-{events}-{seed}")
    if not folder.exists():
        _say(f"making {folder.name}")
        half = folder.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        synthesize(half, events=events, seed=seed, templates=TEMPLATES)
        half.rename(folder)
    return folder


def _fresh(name: str) -> Path:
    folder = HOME / name
    shutil.rmtree(folder, ignore_errors=True)
    return folder


@dataclass(slots=True)
class _ChildOutput:
    """A child's output so far: the seconds of its stages, and its result."""

    stages: dict[str, float]
    last: dict[str, Any]

    def listen(self, lines: Any) -> None:
        """Read the child's output to its end."""
        for line in lines:
            if not line.startswith("{"):  # Java's
                continue
            record = json.loads(line)
            if "stage" in record:
                self.stages[record["stage"]] = record["seconds"]
                _say(f"  {record['stage']} {record['seconds']} s {record['counts']}")
            else:
                self.last = record


def _child(options: argparse.Namespace, *arguments: str, cores: int = 2, engine: str = SPARK) -> dict[str, Any]:
    """Run a child on `cores` cores; return its result, with the peak memory of the engine and its workers.

    Raises _SlowError when it exceeds the time limit.
    """
    _say(f"{' '.join(arguments[:1])} {Path(arguments[1]).name} by {engine} on {cores} cores")
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java(JavaNeed(platform=SPARK_3, lake=True)).path),
        "PYTHONPATH": str(ROOT),
    }
    command = [
        "taskset",
        "-c",
        ",".join(map(str, range(cores))),
        sys.executable,
        "-m",
        "tests.bench.spark_child",
        *arguments,
    ]
    log = HOME / "child.log"
    output, peak, began = _ChildOutput({}, {}), 0, time.monotonic()
    with (
        log.open("w") as err,
        subprocess.Popen(
            [*command, "--cores", str(cores), "--engine", engine],
            stdout=subprocess.PIPE,
            stderr=err,
            env=environment,
            cwd=ROOT,
            text=True,
        ) as child,
    ):
        listener = threading.Thread(target=output.listen, args=(child.stdout,))
        listener.start()
        tree = psutil.Process(child.pid)
        while child.poll() is None:
            peak = max(peak, _memory(tree))
            if time.monotonic() - began > options.limit:
                _end(tree)
            time.sleep(_LOOKS)
        listener.join()
    elapsed = round(time.monotonic() - began, 1)
    memory = {"megabytes": peak // 2**20, "with_start": elapsed}
    if elapsed > options.limit:
        raise _SlowError({"stopped_after": elapsed, "stages": output.stages, **memory})
    if child.returncode:
        raise SystemExit(f"A measurement failed: see {log}")
    return {**output.last, **memory}


def _end(tree: psutil.Process) -> None:
    for process in [*tree.children(recursive=True), tree]:
        try:
            process.kill()
        except psutil.NoSuchProcess:  # it has ended
            continue


def _memory(tree: psutil.Process) -> int:
    """Memory of the process and its children in bytes; shared memory counts once."""
    total = 0
    for process in [tree, *tree.children(recursive=True)]:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:  # ended meanwhile
            continue
    return total


def _estates(options: argparse.Namespace, _: dict[str, Any]) -> Results:
    """Make all synthetic archives that the other steps read."""
    for events, seed in (
        (options.events // 10, 1),
        (options.events, 1),
        *((_HANDFUL, _first(options, engine) + 1) for engine in options.engines),
        *((options.events // 100, _first(options, engine)) for engine in options.engines),
        (options.cores_events, 1),
    ):
        yield _estate(events, seed).name, events


def _run(options: argparse.Namespace, estate: Path, lake: Path, events: int, *, cores: int = 2) -> dict[str, Any]:
    child = _child(options, "run", str(estate), str(lake), cores=cores)
    rates = {name: round(events / seconds) for name, seconds in child["stages"].items() if seconds}
    return {**child, "events_a_second": {"all": round(events / child["seconds"]), **rates}}


def _curve(options: argparse.Namespace, _: dict[str, Any]) -> Results:
    """Measure a tenth of the events and all of them, on two cores."""
    per_event = []
    for events in (options.events // 10, options.events):
        figures = _run(options, _estate(events), _fresh(f"lake-{events}"), events)
        per_event.append(figures["seconds"] / events)
        yield str(events), figures
    yield "ratio", {"found": round(per_event[1] / per_event[0], 3), "goal": "<= 1.2"}


def _cores(options: argparse.Namespace, _: dict[str, Any]) -> Results:
    """Measure the same events on two cores and on one."""
    events, seconds = options.cores_events, []
    for cores in (2, 1):
        figures = _run(options, _estate(events), _fresh("lake-cores"), events, cores=cores)
        seconds.append(figures["seconds"])
        yield f"{events} on {cores}", figures
    yield "ratio", {"found": round(seconds[1] / seconds[0], 3), "goal": ">= 1.6"}


def _first(options: argparse.Namespace, engine: str) -> int:
    """The seed of the additional one percent for this engine; the next seed is that of the few additional events."""
    return int(options.seed) + (0 if engine == SPARK else 2)


def _increment(options: argparse.Namespace, results: dict[str, Any]) -> Results:
    """Add one percent of events to the lake of the curve: against an empty run and against its share of the whole.

    It runs on the engine that `lake run` chooses for this size, and on Spark. A few more events show the least cost
    of any addition.
    """
    lake = HOME / f"lake-{options.events}"
    try:
        full_seconds = results["curve"][str(options.events)]["seconds"]
    except KeyError:
        raise SystemExit(
            "There is no lake of this many events: measure the curve first (--steps curve increment)"
        ) from None
    for engine in options.engines:
        first = _first(options, engine)
        empty = _child(options, "run", str(_estate(options.events)), str(lake), engine=engine)
        yield f"empty by {engine}", empty
        for name, events, seed in (("handful", _HANDFUL, first + 1), ("one per cent", options.events // 100, first)):
            increment = _child(options, "run", str(_estate(events, seed)), str(lake), engine=engine)
            if not increment["counts"]["bronze"]["files"]:
                raise SystemExit(
                    "The lake already holds these events: give another --seed, or make the lake again (--steps curve)"
                )
            yield f"{name} by {engine}", increment
        allowed = empty["seconds"] + 2 * full_seconds / 100
        comparison = {"found": round(increment["seconds"] / allowed, 3), "allowed": round(allowed, 1), "goal": "<= 1"}
        yield f"ratio by {engine}", comparison


def _commits(options: argparse.Namespace, _: dict[str, Any]) -> Results:
    """Measure the time of Spark and Delta alone to read a row of each table and to commit one, in a warm session.

    No run that adds to all tables can take less.
    """
    lake, rows = HOME / f"lake-{options.events}", _fresh("lake-rows")
    if not lake.exists():
        raise SystemExit("There is no lake of this many events: make it first (--steps curve)")
    yield "rows", _child(options, "rows", str(lake), str(rows))
    yield "commits", _child(options, "commits", str(lake), str(rows))


def _translation(options: argparse.Namespace, _: dict[str, Any]) -> Results:
    """Measure merging and translating in each engine on one core, against the bare core on the same events."""
    events = options.events // 10
    for engine in (SAIL, SPARK):
        lake = str(_fresh(f"lake-translation-{engine}"))
        yield (
            f"{events} by {engine}",
            _child(options, "translation", str(_estate(events)), lake, cores=1, engine=engine),
        )


def _impact(options: argparse.Namespace, _: dict[str, Any]) -> Results:
    """Measure the closure of the column edges, and one column's downstream."""
    yield str(options.edges), _child(options, "impact", str(options.edges), str(_fresh("lake-impact")))


_STEPS: dict[str, Callable[[argparse.Namespace, dict[str, Any]], Results]] = {
    "curve": _curve,
    "increment": _increment,
    "commits": _commits,
    "cores": _cores,
    "translation": _translation,
    "impact": _impact,
}

if __name__ == "__main__":
    sys.exit(main())
