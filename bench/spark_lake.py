"""The lake on this machine: from a folder in the archive's layout to gold, stage by stage, in processes of their own.

A child process for each measurement (bench/spark_child.py) prints what it saw as one line of JSON, so
that memory and time to start are its own.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from bench.figures import ROOT
from local.java import find_java
from spark_pipeline.synth import synthesize

HOME = ROOT / "build" / "bench-spark"
TEMPLATES = ROOT / "tests" / "golden" / "spark35-ol1.53"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the figures also go to build/bench-spark.json."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark_lake", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="how many events the largest lake has")
    parser.add_argument("--steps", nargs="+", default=list(_STEPS), choices=list(_STEPS))
    parser.add_argument("--edges", type=int, default=1_000_000, help="column edges for the measurement of impact")
    options = parser.parse_args(arguments)
    HOME.mkdir(parents=True, exist_ok=True)
    place = ROOT / "build" / "bench-spark.json"
    found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    for step in options.steps:
        found[step] = _STEPS[step](options)
        place.write_text(json.dumps(found, indent=1) + "\n")
        sys.stdout.write(f"{step}: {json.dumps(found[step])}\n")
        sys.stdout.flush()
    return 0


def _estate(events: int) -> Path:
    folder = HOME / f"estate-{events}"
    if not folder.exists():
        half = HOME / f"estate-{events}.half"
        shutil.rmtree(half, ignore_errors=True)
        synthesize(half, events=events, seed=1, templates=TEMPLATES)
        half.rename(folder)
    return folder


def _fresh(name: str) -> Path:
    folder = HOME / name
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _child(*words: str, cores: int = 2) -> dict[str, Any]:
    """What a child says; the JVM and its workers are pinned to so many cores. The peak is that of the whole tree."""
    environment = {**os.environ, "JAVA_HOME": str(find_java().path), "PYTHONPATH": str(ROOT)}
    command = ["taskset", "-c", ",".join(map(str, range(cores))), sys.executable, "-m", "bench.spark_child", *words]
    log = HOME / "child.log"
    with (
        log.open("w") as err,
        subprocess.Popen(  # noqa: S603 - our own child
            [*command, "--cores", str(cores)], stdout=subprocess.PIPE, stderr=err, env=environment, cwd=ROOT, text=True
        ) as child,
    ):
        peak = 0
        tree = psutil.Process(child.pid)
        while child.poll() is None:
            peak = max(peak, _memory(tree))
            time.sleep(0.5)
        output = child.stdout.read() if child.stdout else ""
    if child.returncode:
        raise SystemExit(f"A measurement failed: see {log}")
    return {**json.loads(output.strip().splitlines()[-1]), "megabytes": peak // 2**20}


def _memory(tree: psutil.Process) -> int:
    """Bytes of the process and its children that they share with no one else, as far as they still run."""
    total = 0
    for each in [tree, *tree.children(recursive=True)]:
        try:
            total += each.memory_full_info().uss
        except psutil.Error:  # ended meanwhile
            continue
    return total


def _curve(options: argparse.Namespace) -> dict[str, Any]:
    """Two sizes, a tenth and the whole, on two cores."""
    found = {}
    for events in (options.events // 10, options.events):
        found[str(events)] = _child("run", str(_estate(events)), str(_fresh(f"lake-{events}")))
    small, large = (found[str(each)]["seconds"] / each for each in (options.events // 10, options.events))
    return {**found, "ratio": round(large / small, 3), "goal": "<= 1.2"}


def _cores(options: argparse.Namespace) -> dict[str, Any]:
    """A tenth of the events on one core and on two."""
    events = options.events // 10
    one, two = (_child("run", str(_estate(events)), str(_fresh("lake-cores")), cores=each) for each in (1, 2))
    return {"one": one, "two": two, "ratio": round(one["seconds"] / two["seconds"], 3), "goal": ">= 1.6"}


def _increment(options: argparse.Namespace) -> dict[str, Any]:
    """One per cent more on the lake of the curve: against an empty run and its share."""
    lake = HOME / f"lake-{options.events}"
    more = HOME / "more"
    if not more.exists():
        synthesize(more, events=options.events // 100, seed=2, templates=TEMPLATES)
    whole = _child("run", str(_estate(options.events)), str(lake))
    share = _child("run", str(more), str(lake))
    return {"empty": whole, "one_per_cent": share}


def _translation(options: argparse.Namespace) -> dict[str, Any]:
    """Merging and translating in Spark on one core, against the bare core on the same events."""
    events = options.events // 10
    return _child("translation", str(_estate(events)), str(_fresh("lake-translation")), cores=1)


def _impact(options: argparse.Namespace) -> dict[str, Any]:
    """The closure of so many column edges, and one column's downstream."""
    return _child("impact", str(options.edges), str(_fresh("lake-impact")))


_STEPS = {
    "curve": _curve,
    "cores": _cores,
    "increment": _increment,
    "translation": _translation,
    "impact": _impact,
}

if __name__ == "__main__":
    sys.exit(main())
