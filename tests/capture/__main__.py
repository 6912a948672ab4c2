"""Capture golden events: `python -m tests.capture [SCENARIO…] [--spark 3.5|4.1]… [--listener VERSION]… [--all]`."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.capture.needs import NeedsError
from tests.capture.runner import PROBLEMS, capture
from tests.capture.scenario import GOLDEN, MATRIX, Scenario, Versions, captures, scenarios
from tests.capture.truth import not_run
from throughline.local.toolchain.versions import LISTENER_VERSION, PLATFORMS, SPARK_3

_INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one scenario on one pair of versions: the number of kept events and where, or the problem."""

    scenario: str
    where: str
    seconds: float
    events: int = 0
    problem: str | None = None


def plan(
    chosen: Sequence[Scenario], versions: Sequence[Versions], *, missing: bool = False
) -> Iterator[tuple[Scenario, Versions]]:
    """Return the captures to make: each Spark scenario on all versions, unless its truth says `not_run`; others once.

    `missing` leaves out captures whose events are kept.
    """
    for scenario in chosen:
        if scenario.needs.kind == "python":
            if not (missing and list(captures(scenario))):
                yield scenario, versions[0]
            continue
        for version in versions:
            if missing and (GOLDEN / version.name / scenario.name / "events.jsonl").exists():
                continue
            if not scenario.truth.exists() or not_run(scenario.truth, version.name) is None:
                yield scenario, version


def main() -> int:
    """Make the requested captures; return 1 when one of them failed, which does not stop the others."""
    known_scenarios = scenarios()
    parser = argparse.ArgumentParser(
        prog="python -m tests.capture",
        description="Capture golden events of Spark, dbt, Airflow, Great Expectations …",
    )
    parser.add_argument("scenario", nargs="*", help=f"of {', '.join(known_scenarios)}; all unless named")
    parser.add_argument("--spark", action="append", choices=PLATFORMS, help=f"(default {SPARK_3.short})")
    parser.add_argument(
        "--listener", action="append", help=f"version of openlineage-spark (default {LISTENER_VERSION})"
    )
    parser.add_argument(
        "--all", action="store_true", help=f"on {', '.join(matrix_entry.name for matrix_entry in MATRIX)}"
    )
    parser.add_argument("--missing", action="store_true", help="only those without kept events")
    parser.add_argument("--plans", action="store_true", help="with throughline-plan.jar beside the listener")
    options = parser.parse_args()
    if unknown := set(options.scenario) - set(known_scenarios):
        parser.error(f"no scenario {', '.join(sorted(unknown))}: there are {', '.join(known_scenarios)}")
    chosen = [known_scenarios[name] for name in options.scenario or known_scenarios]
    err = Console(stderr=True)
    if options.all and (options.spark or options.listener):
        parser.error("--all already selects the versions")
    versions = MATRIX if options.all else _versions(options.spark, options.listener, plans=options.plans)
    outcomes: list[Outcome] = []
    try:
        work = list(plan(chosen, versions, missing=options.missing))
        _capture(work, err, outcomes)
    except NeedsError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        err.print("[yellow]interrupted[/]: earlier captures are kept")
        return _INTERRUPTED
    finally:
        _summarise(outcomes, err)
    return int(any(outcome.problem for outcome in outcomes))


def _versions(spark: Sequence[str] | None, listener: Sequence[str] | None, *, plans: bool) -> list[Versions]:
    return [
        Versions(platform=PLATFORMS[short], listener=version, plans=plans)
        for short in spark or [SPARK_3.short]
        for version in listener or [LISTENER_VERSION]
    ]


def _capture(work: Sequence[tuple[Scenario, Versions]], err: Console, outcomes: list[Outcome]) -> None:
    """Make one capture after the other, and add each result to `outcomes`."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("", total=len(work))
        for scenario, versions in work:
            progress.update(task, description=f"{scenario.name} on {versions.name}")
            outcome = _one(scenario, versions)
            outcomes.append(outcome)
            if outcome.problem:
                err.print(f"[red]✗[/] {outcome.scenario} on {outcome.where}: {escape(outcome.problem)}", soft_wrap=True)
            else:
                err.print(f"[green]✓[/] {outcome.scenario} on {outcome.where}: {outcome.events} events")
            progress.advance(task)


def _one(scenario: Scenario, versions: Versions) -> Outcome:
    began = time.monotonic()
    try:
        kept_path = capture(scenario, versions)
    except PROBLEMS as error:
        return Outcome(
            scenario=scenario.name, where=versions.name, seconds=time.monotonic() - began, problem=str(error)
        )
    return Outcome(
        scenario=scenario.name,
        where=kept_path.parent.name,
        seconds=time.monotonic() - began,
        events=len((kept_path / "events.jsonl").read_bytes().splitlines()),
    )


def _summarise(outcomes: Sequence[Outcome], err: Console) -> None:
    """Print a table of scenarios and versions: the number of events, or ✗."""
    if not outcomes:
        return
    places = list(dict.fromkeys(outcome.where for outcome in outcomes))
    table = Table("scenario", *places)
    for name in dict.fromkeys(outcome.scenario for outcome in outcomes):
        outcomes_by_place = {outcome.where: outcome for outcome in outcomes if outcome.scenario == name}
        table.add_row(name, *(_cell(outcomes_by_place.get(place)) for place in places))
    err.print(table)
    failed = sum(outcome.problem is not None for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    err.print(f"{len(outcomes) - failed} captured in {GOLDEN}, {failed} failed, {seconds:.0f} s")


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    return "[red]✗[/]" if outcome.problem else str(outcome.events)


if __name__ == "__main__":
    sys.exit(main())
