"""`python -m tests.spark_listener.delays`: scenarios over a network that is slow, cold or out of order at times.

Each scenario that was captured with plans runs on real Spark, and both listeners report to a receiver that answers
late, or with a 503 now and then. The lineage must be the same as by file. It prints a row for each run, and exits with
1 when one differs.

One JVM runs several scenarios for all receivers, one after the other, each in applications of its own. A run that fails
or differs there runs again in a JVM of its own, and only that counts: `JVM` says which.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path

from shared.openlineage.decoding import Event, decode
from shared.translation.reference import translate_history
from tests.capture.runner import PROBLEMS, run_against, run_in_one_jvm, shares_a_jvm
from tests.capture.scenario import GOLDEN, Scenario, Versions, scenarios
from tests.capture.truth import Truth
from tests.spark_listener.receiver import ANSWERS, Answers, receiver
from throughline.local.toolchain.versions import PLATFORMS
from throughline.project import BUILD


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The result of one run: plans that came, those without a run of the listener, lost ones, and differences."""

    scenario: str
    spark: str
    answers: str
    jvm: str
    plans: int = 0
    unjoined: int = 0
    lost: int = 0
    differences: tuple[str, ...] = ()

    def __str__(self) -> str:
        state = "; ".join(self.differences) or "the same"
        counts = f"{self.plans} | {self.unjoined} | {self.lost}"
        return f"| {self.scenario} | {self.spark} | {self.answers} | {self.jvm} | {counts} | {state} |"


Run = tuple[Scenario, Versions, Answers]
OWN, SHARED = "own", "shared"
SCENARIOS_IN_A_JVM = 4
INTERRUPTED = 130
HEAD = "| scenario | Spark | answers | JVM | plans | without the listener's run | lost | lineage |\n|-|-|-|-|-|-|-|-|\n"


def alone(run: Run) -> Row:
    """Run a scenario against such a receiver in a JVM of its own."""
    scenario, versions, answers = run
    with receiver(answers) as (url, received):
        try:
            run_against(url, scenario, versions, _folder(run))
            problem = None
        except PROBLEMS as error:
            problem = str(error)
    return _row(run, OWN, received.bodies, problem)


def together(runs: Sequence[Run]) -> Iterator[Row]:
    """Do runs on one Spark in one JVM, and again alone what fails or differs there."""
    scenario, versions, _ = runs[0]
    with ExitStack() as stack:
        receivers = {run: stack.enter_context(receiver(run[2])) for run in runs}
        plan = {_folder(run): (run[0], url) for run, (url, _) in receivers.items()}
        try:
            problems = run_in_one_jvm(
                plan, versions, BUILD / "plan_delays" / f"{versions.platform.major}" / scenario.name
            )
        except PROBLEMS as error:
            problems = dict.fromkeys(plan, str(error))
    for run, (_, received) in receivers.items():
        row = _row(run, SHARED, received.bodies, problems[_folder(run)])
        if row.differences:
            sys.stderr.write(f"again, alone: {row}\n")
            row = alone(run)
        yield row


def _folder(run: Run) -> Path:
    scenario, versions, answers = run
    return BUILD / "plan_delays" / f"{versions.platform.major}_{answers.name}" / scenario.name


def _row(run: Run, jvm: str, bodies: Sequence[bytes], problem: str | None) -> Row:
    """What a run's events give, beside the events that were captured by file; they are kept beside the run's folder."""
    scenario, versions, answers = run
    name, spark = scenario.name, versions.platform.short
    if problem is not None:
        text = problem.replace("\n", " ")
        return Row(scenario=name, spark=spark, answers=answers.name, jvm=jvm, differences=(text,))
    lines = (body.replace(b"\n", b" ") + b"\n" for body in bodies)
    _folder(run).with_suffix(f".{jvm}.jsonl").write_bytes(b"".join(lines))
    events = [decode(body) for body in bodies]
    captured = (GOLDEN / versions.name / name / "events.jsonl").read_bytes().splitlines()
    facets = [
        event.body.run.facets.plan
        for event in events
        if event.body and event.body.run.facets and event.body.run.facets.plan
    ]
    plans = [facet for facet in facets if facet.plan or facet.problem]
    return Row(
        scenario=name,
        spark=spark,
        answers=answers.name,
        jvm=jvm,
        plans=len(plans),
        unjoined=sum(not facet.joined for facet in plans),
        lost=max((facet.lost for facet in facets), default=0),
        differences=tuple(differences(scenario, versions, events, map(decode, captured))),
    )


def differences(
    scenario: Scenario, versions: Versions, events: Iterable[Event], captured: Iterable[Event]
) -> Iterator[str]:
    """The facts of lineage that only one of two runs of a scenario gives, by the truth's names of data sets.

    Operations are left out: late, the listener also tells of the inner write of a statement such as REPLACE TABLE AS.
    """
    reported, expected = (_facts(scenario, versions, history) for history in (events, captured))
    yield from (f"missing: {fact}" for fact in sorted((expected - reported).elements(), key=str))
    yield from (f"too many: {fact}" for fact in sorted((reported - expected).elements(), key=str))


def _facts(scenario: Scenario, versions: Versions, events: Iterable[Event]) -> Counter[object]:
    truth = Truth.read(scenario.truth, capture=versions.name)
    facts: Counter[object] = Counter()
    for process in map(truth.as_reported, translate_history(events).processes):
        facts[process.output] += 1
        facts.update((process.output, "from", name) for name in process.inputs)
        facts.update(process.edges)
    return facts


def runs(names: Sequence[str], sparks: Sequence[str], answers: Sequence[str]) -> Iterator[Run]:
    """The runs of these scenarios, on each Spark that they were captured on with plans."""
    by_name = scenarios()
    for name in names or by_name:
        for short in sparks:
            versions = Versions(platform=PLATFORMS[short], plans=True)
            if (GOLDEN / versions.name / name / "events.jsonl").exists():
                yield from ((by_name[name], versions, ANSWERS[answer]) for answer in answers)


def main() -> int:
    """Run the requested scenarios; return 1 if the lineage of one differs or it could not run."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark_listener.delays", description=__doc__)
    parser.add_argument("scenario", nargs="*", help="(default: all that were captured with plans)")
    parser.add_argument("--spark", action="append", choices=PLATFORMS, help="(default: each)")
    parser.add_argument("--answers", action="append", choices=ANSWERS, help="(default: each)")
    parser.add_argument("--jobs", type=int, default=2, help="how many JVMs run at a time (default: 2)")
    parser.add_argument("--alone", action="store_true", help="give each run a JVM of its own: takes hours")
    options = parser.parse_args()
    if unknown := set(options.scenario) - set(scenarios()):
        parser.error(f"no scenario {', '.join(sorted(unknown))}: there are {', '.join(scenarios())}")
    work = list(runs(options.scenario, options.spark or list(PLATFORMS), options.answers or list(ANSWERS)))
    failed = 0
    sys.stdout.write(HEAD)
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            rows = [map(alone, [run]) for run in work] if options.alone else map(together, _batches(work))
            for future in as_completed([pool.submit(list, those) for those in rows]):
                for row in future.result():
                    failed += bool(row.differences)
                    sys.stdout.write(f"{row}\n")
                sys.stdout.flush()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            return INTERRUPTED
    sys.stdout.write(f"{len(work) - failed} of {len(work)} runs have the same lineage\n")
    return int(failed > 0)


def _batches(work: Sequence[Run]) -> Iterator[Sequence[Run]]:
    """The runs by JVM: those of a few scenarios on one Spark, or of one that has needs of its own."""
    for _, on_one_spark in groupby(sorted(work, key=lambda run: run[1].name), key=lambda run: run[1]):
        by_scenario = [list(runs) for _, runs in groupby(on_one_spark, key=lambda run: run[0])]
        shared = [runs for runs in by_scenario if shares_a_jvm(runs[0][0])]
        for start in range(0, len(shared), SCENARIOS_IN_A_JVM):
            yield list(chain.from_iterable(shared[start : start + SCENARIOS_IN_A_JVM]))
        yield from (runs for runs in by_scenario if runs not in shared)


if __name__ == "__main__":
    sys.exit(main())
