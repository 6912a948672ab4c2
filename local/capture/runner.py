"""Running one scenario and keeping its events with the versions that gave them and the truth written by hand."""

import json
import shutil
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from local.capture.cloud import cloud_configuration
from local.capture.scrub import ROOT, Machine, scrub
from local.java import JavaHome
from local.spark import DELTA_VERSION, SMALL_SESSION, SPARK_VERSION, file_configuration, run_job

PROJECT = Path(__file__).resolve().parents[2]
GOLDEN = PROJECT / "tests" / "golden"
WORK = PROJECT / "build" / "capture"


class CaptureError(Exception):
    """A scenario that could not be captured; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A script that takes `--data FOLDER`, and the lineage it must give, written by hand beside it."""

    name: str
    script: Path

    @property
    def truth(self) -> Path:
        """Where the truth stands."""
        return self.script.with_suffix(".truth.json")


def scenarios() -> dict[str, Scenario]:
    """Return all scenarios by name: the examples first, then those made for capturing."""
    scripts = [
        *sorted((PROJECT / "examples").glob("*.py")),
        *sorted((Path(__file__).parent / "scenarios").glob("[!_]*.py")),
    ]
    return {script.stem: Scenario(name=script.stem, script=script) for script in scripts}


def golden_folder(scenario: Scenario, listener: str) -> Path:
    """Return where a scenario's events are kept: `spark35-ol1.53/<scenario>` for Spark 3.5 and listener 1.53."""
    spark = "".join(SPARK_VERSION.split(".")[:2])
    return GOLDEN / f"spark{spark}-ol{'.'.join(listener.split('.')[:2])}" / scenario.name


def capture(scenario: Scenario, *, listener: str, java: JavaHome) -> Path:
    """Run the scenario with this version of the listener; return the folder in which its events are kept now.

    Everything is run afresh in a folder of its own. Raises CaptureError when the job fails, NoCompilerError without
    a JDK, LeakError when something of this machine would be kept.
    """
    folder = WORK / listener / scenario.name
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "data"
    data.mkdir(parents=True)
    events = folder / "events.jsonl"
    result = run_job(
        scenario.script,
        configuration=SMALL_SESSION | file_configuration(events, listener=listener) | cloud_configuration(folder, java),
        directory=folder / "spark",
        arguments=["--data", str(data)],
        java=java,
    )
    if result.problem:
        raise CaptureError(result.problem)
    if not events.exists():
        raise CaptureError(f"The listener {listener} wrote no events. Log: {result.log}")
    kept = golden_folder(scenario, listener)
    kept.mkdir(parents=True, exist_ok=True)
    machine = Machine(
        paths={str(data): ROOT, str(PROJECT): "/opt/throughline"},
        words=(str(PROJECT), str(Path.home()), socket.gethostname()),
    )
    (kept / "events.jsonl").write_text(scrub(events.read_text(), machine))
    shutil.copyfile(scenario.truth, kept / "truth.json")
    versions = {
        "spark": SPARK_VERSION,
        "delta": DELTA_VERSION,
        "listener": listener,
        "java": java.version,
        "captured": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    (kept / "versions.json").write_text(json.dumps(versions, indent=2) + "\n")
    return kept
