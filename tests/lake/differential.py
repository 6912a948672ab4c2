"""`python -m tests.lake.differential`: the lake beside the pure meaning, over all captured events and many
made-up runs, in Delta, in as many steps as asked for. `--spark 4` does so with the Python that has Spark 4,
`--engine sail` on Sail.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pyspark

from shared.model import Process
from shared.openlineage.decoding import Event
from shared.translation.reference import translate_history
from tests.synth.histories import synthesize
from throughline.lake.bronze.event_files import Read, Reader
from throughline.lake.engine.opening import opened
from throughline.lake.engine.session import Local
from throughline.lake.pipeline import Order, run
from throughline.lake.tables.encoding import unpack_process
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import CURRENT
from throughline.local.toolchain.interpreter import made_for
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.versions import SPARK_3, SPARK_4

GOLDEN = Path(__file__).parent.parent / "golden"
TEMPLATES = GOLDEN / "spark35-ol1.53"
_EVENTS_A_RUN = 2.4
"""Of made-up histories: how many events they have for each run."""


def written_at(path: Path) -> datetime:
    """When a file was written."""
    return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)


def captured(*names: str) -> list[Path]:
    """The files of captured events, of these captures or of all."""
    paths = sorted(GOLDEN.glob("*/*/events.jsonl"))
    return [path for path in paths if not names or path.parent.parent.name in names]


def current(lake: Lake) -> list[Process]:
    """The result of the lake."""
    rows = lake.live(CURRENT).orderBy("process").select("content").collect()
    return [unpack_process(bytes(row[0])) for row in rows]


def history(events: Iterable[Event]) -> list[Process]:
    """The result of the pure core."""
    return list(translate_history(events).processes)


def usable(folder: Path) -> list[Event]:
    """The usable events in the files of a folder, read without Spark."""
    reader = Reader()
    read_results = [
        each
        for path in sorted(folder.rglob("*.gz"))
        for each in reader.read(str(path), path.read_bytes(), written_at(path))
        if isinstance(each, Read)
    ]
    return [read_result.event for read_result in read_results if not read_result.late]


def main() -> int:
    """Compare after each step."""
    parser = argparse.ArgumentParser(prog="python -m tests.lake.differential", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="about so many made-up runs")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spark", choices=["4"], help="not the Spark that is installed here")
    parser.add_argument("--engine", choices=["spark", "sail"], default="spark")
    options = parser.parse_args()
    if options.spark and not pyspark.__version__.startswith(options.spark):
        python = made_for(SPARK_4).python
        return subprocess.call([python, "-m", "tests.lake.differential", *sys.argv[1:]])
    platform = SPARK_4 if pyspark.__version__.startswith("4") else SPARK_3
    if options.engine == "spark":
        os.environ["JAVA_HOME"] = str(find_java(JavaNeed(platform=platform, lake=True)).path)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        session_options = Local(delta_package=platform.delta_package, scratch=str(home / "scratch"))
        wrong = 0
        with opened(session_options, options.engine) as session:
            lake = Lake.at(session, str(home / "lake"))
            synthesize(home / "all", events=int(options.runs * _EVENTS_A_RUN), seed=options.seed, templates=TEMPLATES)
            files = sorted((home / "all").rglob("*.gz"))
            lines = [line for path in captured() for line in path.read_bytes().splitlines()]
            for step in range(options.steps):
                target = home / "sources" / str(step)
                target.mkdir(parents=True)
                (target / "events.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines[step :: options.steps])))
                for path in files[step :: options.steps]:
                    path.rename(target / path.name)
                run(lake, Order(sources=(str(home / "sources"),)))
                processes, wanted_processes = current(lake), history(usable(home / "sources"))
                wrong += processes != wanted_processes
                verdict = "the same" if processes == wanted_processes else "NOT the same"
                sys.stdout.write(
                    f"step {step + 1}: {len(processes)} processes, {len(wanted_processes)} wanted: {verdict}\n"
                )
                sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
