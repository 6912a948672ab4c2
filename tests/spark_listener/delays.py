"""`python -m tests.spark_listener.delays`: scenarios over a network that is slow, cold or out of order at times.

Each scenario that was captured with plans runs on real Spark, and both listeners report to a receiver that answers
late, or with a 503 now and then. The lineage must be the same as by file. It prints a row for each run, and exits with
1 when one differs.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from shared.openlineage.decoding import Event, decode
from shared.translation.reference import translate_history
from tests.capture.runner import PROBLEMS, run_against
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
    plans: int = 0
    unjoined: int = 0
    lost: int = 0
    differences: tuple[str, ...] = ()

    def __str__(self) -> str:
        state = "; ".join(self.differences) or "the same"
        counts = f"{self.plans} | {self.unjoined} | {self.lost}"
        return f"| {self.scenario} | {self.spark} | {self.answers} | {counts} | {state} |"


INTERRUPTED = 130
HEAD = "| scenario | Spark | answers | plans | without the listener's run | lost | lineage |\n|-|-|-|-|-|-|-|\n"


def row(scenario: Scenario, versions: Versions, answers: Answers) -> Row:
    """Run a scenario against such a receiver."""
    folder = BUILD / "plan_delays" / f"{versions.platform.major}_{answers.name}" / scenario.name
    with receiver(answers) as (url, received):
        run_against(url, scenario, versions, folder)
    lines = (body.replace(b"\n", b" ") + b"\n" for body in received.bodies)
    (folder / "events.jsonl").write_bytes(b"".join(lines))
    return compared(scenario, versions, answers.name, received.bodies)


def compared(scenario: Scenario, versions: Versions, answers: str, bodies: Sequence[bytes]) -> Row:
    """What a run's events give, beside the events that were captured by file."""
    events = [decode(body) for body in bodies]
    captured = (GOLDEN / versions.name / scenario.name / "events.jsonl").read_bytes().splitlines()
    facets = [
        event.body.run.facets.plan
        for event in events
        if event.body and event.body.run.facets and event.body.run.facets.plan
    ]
    plans = [facet for facet in facets if facet.plan or facet.problem]
    return Row(
        scenario=scenario.name,
        spark=versions.platform.short,
        answers=answers,
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


def runs(
    names: Sequence[str], sparks: Sequence[str], answers: Sequence[str]
) -> Iterator[tuple[Scenario, Versions, Answers]]:
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
    parser.add_argument("--jobs", type=int, default=2, help="how many run at a time (default: 2)")
    options = parser.parse_args()
    if unknown := set(options.scenario) - set(scenarios()):
        parser.error(f"no scenario {', '.join(sorted(unknown))}: there are {', '.join(scenarios())}")
    work = list(runs(options.scenario, options.spark or list(PLATFORMS), options.answers or list(ANSWERS)))
    failed = 0
    sys.stdout.write(HEAD)
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            for future in as_completed(pool.submit(_row, *run) for run in work):
                finished = future.result()
                failed += bool(finished.differences)
                sys.stdout.write(f"{finished}\n")
                sys.stdout.flush()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            return INTERRUPTED
    sys.stdout.write(f"{len(work) - failed} of {len(work)} runs have the same lineage\n")
    return int(failed > 0)


def _row(scenario: Scenario, versions: Versions, answers: Answers) -> Row:
    try:
        return row(scenario, versions, answers)
    except PROBLEMS as error:
        problem = str(error).replace("\n", " ")
        name, spark = scenario.name, versions.platform.short
        return Row(scenario=name, spark=spark, answers=answers.name, differences=(problem,))


if __name__ == "__main__":
    sys.exit(main())
