"""Run one scenario, and keep its events with their versions."""

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tests.capture.cloud import cloud_configuration
from tests.capture.javac import NoCompilerError, class_source, classes_beside
from tests.capture.needs import Needs, NeedsError, merge_configurations
from tests.capture.plans import packed, unpacked
from tests.capture.scenario import GOLDEN, PROJECT, Scenario, Versions
from tests.capture.scrub import ROOT, LeakError, Machine, scrub
from tests.capture.systems import System, SystemsError, system
from tests.support.spark_events import file_configuration
from throughline.local.process.leashed import Leashed
from throughline.local.spark.failure import explain_failure
from throughline.local.spark.job import (
    PATIENCE_SECONDS,
    QUICK_SESSION,
    SMALL_SESSION,
    JobResult,
    SparkJob,
    listener_configuration,
)
from throughline.local.toolchain.interpreter import Interpreter, InterpreterError, made_for
from throughline.local.toolchain.java import JavaHome, JavaNeed, NoJavaError, find_java
from throughline.plan_jar import PlanJarError, plan_configuration

WORK = PROJECT / "build" / "capture"
ONE_JVM = Path(__file__).parent / "one_jvm.py"
_LONG_SESSION = {
    "spark.sql.codegen.factoryMode": QUICK_SESSION["spark.sql.codegen.factoryMode"],
    "spark.driver.extraJavaOptions": "-XX:ReservedCodeCacheSize=240m",
}
"""For several runs in one JVM: with its first compiler alone it has 48 MB for their code, and drops and compiles it
again and again.
"""


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
    with _prepared(scenario, versions, folder) as (needs, running_system):
        if spark:
            reports = file_configuration(
                _events(folder), platform=versions.platform, listener=versions.listener, packages=needs.packages
            )
            if versions.plans:
                reports = merge_configurations(reports, plan_configuration(_plans(folder)))
            facts = _run_spark(scenario, versions, needs, running_system, folder, reports=reports)
            if not _events(folder).exists():
                raise CaptureError(f"The listener {versions.listener} wrote no events. Log: {folder / 'spark'}")
            name = versions.name
        else:
            assert running_system is not None
            facts = _run_python(scenario, needs, running_system, folder)
            name = f"{needs.system}-{'.'.join(running_system.versions[str(needs.system)].split('.')[:2])}"
        return _keep(
            GOLDEN / name / scenario.name, folder, facts, running_system.stable_names if running_system else {}
        )


def run_against(receiver: str, scenario: Scenario, versions: Versions, folder: Path) -> None:
    """Run a Spark scenario with the plan listener, in this folder, which is emptied; the events go to a receiver.

    Raises the errors of `capture` that have to do with running.
    """
    with _prepared(scenario, versions, folder) as (needs, running_system):
        _run_spark(scenario, versions, needs, running_system, folder, reports=_to_receiver(receiver, versions, needs))


def shares_a_jvm(scenario: Scenario) -> bool:
    """Whether the scenario needs nothing of the JVM that others do not."""
    return scenario.needs == Needs() and not class_source(scenario.script).exists()


def run_in_one_jvm(
    runs: Mapping[Path, tuple[Scenario, str]], versions: Versions, folder: Path
) -> Mapping[Path, str | None]:
    """Run Spark scenarios one after the other in one JVM, each against a receiver; return the runs' problems.

    `runs`: scenario and receiver by the folder of each run, which is emptied; `folder` has the files of the JVM itself.
    Each run has sessions, data, a warehouse and a server of its own; packages, class path and options of the JVM are
    the first run's. Raises the errors of `run_against`, when no run could begin.
    """
    with ExitStack() as stack:
        stack.enter_context(_alone_in(folder))
        launches: dict[Path, _Launch] = {}
        for run, (scenario, receiver) in runs.items():
            needs, used = stack.enter_context(_prepared(scenario, versions, run))
            reports = _to_receiver(receiver, versions, needs)
            launches[run] = _launch(scenario, versions, needs, used, run, reports=reports)
            launches[run].configuration.setdefault("spark.sql.warehouse.dir", str(run / "warehouse"))
        first = next(iter(launches.values()))
        distinct = {
            name
            for name, value in first.configuration.items()
            if any(launch.configuration[name] != value for launch in launches.values())
        }
        plan = [
            {
                "script": str(launch.script),
                "arguments": launch.arguments,
                "properties": {name: launch.configuration[name] for name in distinct},
                "outcome": str(run / "outcome.json"),
                "receiver": runs[run][1],
            }
            for run, launch in launches.items()
        ]
        (folder / "runs.json").write_text(json.dumps(plan))
        jvm = replace(
            first,
            script=ONE_JVM,
            configuration=merge_configurations(first.configuration, _LONG_SESSION),
            arguments=[str(folder / "runs.json")],
        )
        result = jvm.run(folder, seconds=PATIENCE_SECONDS * len(plan))
        not_run = result.problem or f"The run did not end. Log: {result.log}"
        outcomes = {run: run / "outcome.json" for run in launches}
        return {
            run: json.loads(path.read_text())["problem"] if path.exists() else not_run for run, path in outcomes.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launch:
    """A script's run under spark-submit."""

    script: Path
    configuration: dict[str, str]
    arguments: list[str]
    environment: Mapping[str, str]
    java: JavaHome
    interpreter: Interpreter

    def run(self, folder: Path, *, seconds: float = PATIENCE_SECONDS) -> JobResult:
        """Run it to its end; the files of the job itself are in `folder/spark`."""
        with SparkJob(
            self.script,
            configuration=self.configuration,
            directory=folder / "spark",
            arguments=self.arguments,
            environment=self.environment,
            java=self.java,
            interpreter=self.interpreter,
        ) as job:
            return job.wait(seconds=seconds)


def _launch(
    scenario: Scenario,
    versions: Versions,
    needs: Needs,
    used: System | None,
    folder: Path,
    *,
    reports: Mapping[str, str],
) -> _Launch:
    """The run of a scenario in its prepared folder. `reports`: how the listeners report."""
    java, interpreter = find_java(JavaNeed(platform=versions.platform, listener=True)), made_for(versions.platform)
    return _Launch(
        script=scenario.script,
        configuration=merge_configurations(
            SMALL_SESSION,
            reports,
            cloud_configuration(folder, java, interpreter.spark_home),
            classes_beside(scenario.script, java, interpreter.spark_home),
            used.configuration if used else {},
            needs.conf,
        ),
        arguments=["--data", str(folder / "data"), *(used.arguments if used else ())],
        environment={**os.environ, **needs.environment, **(used.environment if used else {})},
        java=java,
        interpreter=interpreter,
    )


def _to_receiver(receiver: str, versions: Versions, needs: Needs) -> dict[str, str]:
    reports = listener_configuration(
        receiver, platform=versions.platform, listener=versions.listener, packages=needs.packages
    )
    return merge_configurations(reports, plan_configuration())


@contextmanager
def _prepared(scenario: Scenario, versions: Versions, folder: Path) -> Iterator[tuple[Needs, System | None]]:
    """Hold an empty folder for a scenario with its data folder, and run its system, while the block lasts."""
    data = folder / "data"
    needs = scenario.needs.filled_in({**versions.placeholders, "data": str(data), "project": str(PROJECT)})
    with _alone_in(folder), system(needs.system) if needs.system else nullcontext() as running_system:
        data.mkdir()
        yield needs, running_system


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
    running_system: System | None,
    folder: Path,
    *,
    reports: Mapping[str, str],
) -> dict[str, object]:
    """Run it under spark-submit; return the facts for versions.json. `reports`: how the listeners report."""
    platform = versions.platform
    launch = _launch(scenario, versions, needs, running_system, folder, reports=reports)
    result = launch.run(folder)
    if result.problem:
        raise CaptureError(result.problem)
    facts: dict[str, object] = {
        "spark": platform.spark,
        "delta": platform.delta,
        "listener": versions.listener,
        "java": launch.java.version,
    }
    if needs.packages:
        facts["packages"] = list(needs.packages)
    return facts | (dict(running_system.versions) if running_system else {})


def _run_python(scenario: Scenario, needs: Needs, running_system: System, folder: Path) -> dict[str, object]:
    """Run it with the Python of its system; return the facts for versions.json."""
    if running_system.python is None:
        raise CaptureError(
            f"{scenario.name} is no Spark job, and the system {needs.system} has no Python to run it with"
        )
    output, log, events = folder / "output.txt", folder / "log.txt", _events(folder)
    arguments = ["--data", str(folder / "data"), "--events", str(events), *running_system.arguments]
    with Leashed(
        [str(running_system.python), str(scenario.script), *arguments],
        environment={**os.environ, **needs.environment, **running_system.environment},
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
    return dict(running_system.versions)


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
    recorded_facts = {**facts, "captured": f"{datetime.now(UTC):%Y-%m-%d}"}
    (kept_path / "versions.json").write_text(json.dumps(recorded_facts, indent=2) + "\n")
    return kept_path
