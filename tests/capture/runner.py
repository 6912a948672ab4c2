"""Run one scenario, and keep its events with their versions."""

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from tests.capture.cloud import cloud_configuration
from tests.capture.javac import NoCompilerError, classes_beside
from tests.capture.needs import Needs, NeedsError, merge_configurations
from tests.capture.plans import packed, unpacked
from tests.capture.scenario import GOLDEN, PROJECT, Scenario, Versions
from tests.capture.scrub import ROOT, LeakError, Machine, scrub
from tests.capture.systems import System, SystemsError, system
from throughline.local.process.leashed import Leashed
from throughline.local.spark.failure import explain_failure
from throughline.local.spark.job import (
    PATIENCE_SECONDS,
    SMALL_SESSION,
    SparkJob,
    file_configuration,
    listener_configuration,
)
from throughline.local.toolchain.interpreter import InterpreterError, made_for
from throughline.local.toolchain.java import JavaNeed, NoJavaError, find_java
from throughline.plan_jar import PlanJarError, plan_configuration

WORK = PROJECT / "build" / "capture"


class CaptureError(Exception):
    """A scenario that could not be captured; the message says why."""


PROBLEMS = (
    CaptureError,
    InterpreterError,
    LeakError,
    NeedsError,
    NoCompilerError,
    NoJavaError,
    OSError,
    PlanJarError,
    SystemsError,
)
"""The errors of running a scenario."""


def capture(scenario: Scenario, versions: Versions) -> Path:
    """Run the scenario, on these versions if it is one of Spark's; return the folder of its kept events.

    It runs in an empty folder of its own. Raises CaptureError when the job fails, NoJavaError, NoCompilerError without
    a JDK, InterpreterError, NeedsError, LeakError when the events contain a fact of this machine, and the errors of
    starting the scenario's system and of building the jar of plans.
    """
    if not scenario.truth.exists():
        raise CaptureError(f"{scenario.script} has no truth: write {scenario.truth.name} beside it first, from the job")
    spark = scenario.needs.kind == "spark"
    # No dots or dashes in the folder: the listener folds them in the names of jobs.
    folder = WORK / (versions.name.replace(".", "_").replace("-", "_") if spark else "python") / scenario.name
    with _prepared(scenario, versions, folder) as (needs, used):
        if spark:
            reports = file_configuration(
                _events(folder), platform=versions.platform, listener=versions.listener, packages=needs.packages
            )
            if versions.plans:
                reports = merge_configurations(reports, plan_configuration(_plans(folder)))
            facts = _run_spark(scenario, versions, needs, used, folder, reports=reports)
            if not _events(folder).exists():
                raise CaptureError(f"The listener {versions.listener} wrote no events. Log: {folder / 'spark'}")
            name = versions.name
        else:
            assert used is not None
            facts = _run_python(scenario, needs, used, folder)
            name = f"{needs.system}-{'.'.join(used.versions[str(needs.system)].split('.')[:2])}"
        return _keep(GOLDEN / name / scenario.name, folder, facts, used.stable_names if used else {})


def run_against(receiver: str, scenario: Scenario, versions: Versions, folder: Path) -> None:
    """Run a Spark scenario with the plan listener, in this folder, which is emptied; the events go to a receiver.

    Raises the errors of `capture` that have to do with running.
    """
    with _prepared(scenario, versions, folder) as (needs, used):
        reports = listener_configuration(
            receiver, platform=versions.platform, listener=versions.listener, packages=needs.packages
        )
        reports = merge_configurations(reports, plan_configuration())
        _run_spark(scenario, versions, needs, used, folder, reports=reports)


@contextmanager
def _prepared(scenario: Scenario, versions: Versions, folder: Path) -> Iterator[tuple[Needs, System | None]]:
    """Hold an empty folder for a scenario with its data folder, and run its system, while the block lasts."""
    data = folder / "data"
    needs = scenario.needs.filled_in({**versions.placeholders, "data": str(data), "project": str(PROJECT)})
    with _alone_in(folder), system(needs.system) if needs.system else nullcontext() as used:
        data.mkdir()
        yield needs, used


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold an empty folder exclusively. Raises CaptureError when another process holds it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CaptureError(f"{folder.name} is being captured by another process: wait for its end") from error
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield


def _run_spark(
    scenario: Scenario,
    versions: Versions,
    needs: Needs,
    used: System | None,
    folder: Path,
    *,
    reports: Mapping[str, str],
) -> dict[str, object]:
    """Run it under spark-submit; return the facts for versions.json. `reports`: how the listeners report."""
    platform = versions.platform
    java, interpreter = find_java(JavaNeed(platform=platform, listener=True)), made_for(platform)
    with SparkJob(
        scenario.script,
        configuration=merge_configurations(
            SMALL_SESSION,
            reports,
            cloud_configuration(folder, java, interpreter.spark_home),
            classes_beside(scenario.script, java, interpreter.spark_home),
            used.configuration if used else {},
            needs.conf,
        ),
        directory=folder / "spark",
        arguments=["--data", str(folder / "data"), *(used.arguments if used else ())],
        environment={**os.environ, **needs.environment, **(used.environment if used else {})},
        java=java,
        interpreter=interpreter,
    ) as job:
        result = job.wait()
    if result.problem:
        raise CaptureError(result.problem)
    facts: dict[str, object] = {
        "spark": platform.spark,
        "delta": platform.delta,
        "listener": versions.listener,
        "java": java.version,
    }
    if needs.packages:
        facts["packages"] = list(needs.packages)
    return facts | (dict(used.versions) if used else {})


def _run_python(scenario: Scenario, needs: Needs, used: System, folder: Path) -> dict[str, object]:
    """Run it with the Python of its system; return the facts for versions.json."""
    if used.python is None:
        raise CaptureError(
            f"{scenario.name} is no Spark job, and the system {needs.system} has no Python to run it with"
        )
    output, log, events = folder / "output.txt", folder / "log.txt", _events(folder)
    arguments = ["--data", str(folder / "data"), "--events", str(events), *used.arguments]
    with Leashed(
        [str(used.python), str(scenario.script), *arguments],
        environment={**os.environ, **needs.environment, **used.environment},
        output=output,
        log=log,
    ) as command:
        code = command.wait(PATIENCE_SECONDS)
    if code is None:
        raise CaptureError(f"{scenario.name} did not end within {PATIENCE_SECONDS:g} s and was stopped. Log: {log}")
    if code:
        errors = log.read_text(errors="replace")
        raise CaptureError(explain_failure(scenario.name, output.read_text(errors="replace"), errors, log))
    if not events.exists():
        raise CaptureError(f"{scenario.name} wrote no events to its --events. Log: {log}")
    return dict(used.versions)


def _plans(folder: Path) -> Path:
    return folder / "plans.jsonl"


def _events(folder: Path) -> Path:
    return folder / "events.jsonl"


def _keep(kept_path: Path, folder: Path, facts: Mapping[str, object], stable_names: Mapping[str, str]) -> Path:
    """Write the events without this machine's facts into `kept_path`, with the versions. Raises LeakError."""
    machine = Machine(
        paths={**stable_names, str(folder / "data"): ROOT, str(folder): "/opt/job", str(PROJECT): "/opt/throughline"},
        forbidden=(str(PROJECT), str(Path.home()), socket.gethostname()),
    )
    text = scrub(_events(folder).read_text(), machine)
    if _plans(folder).exists():
        text += packed(scrub(unpacked(_plans(folder).read_text()), machine))
    kept_path.mkdir(parents=True, exist_ok=True)
    (kept_path / "events.jsonl").write_text(text)
    known = {**facts, "captured": f"{datetime.now(UTC):%Y-%m-%d}"}
    (kept_path / "versions.json").write_text(json.dumps(known, indent=2) + "\n")
    return kept_path
