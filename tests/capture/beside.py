"""Compare the listener's report of a job, without and with the plan, with the whole truth.

The events of one run give both: without those of the plan they are the unmodified listener's.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shared.openlineage.decoding import decode
from shared.translation.reference import translate_history
from tests.capture.scenario import GOLDEN, WITH_PLANS, Scenario
from tests.capture.truth import ListenerVersion, Truth, not_run
from throughline.local.spark.truth import Edge, Expected

_PLAN = b'"throughline_plan"'
_HEAD = """\
Each job ran once with both listeners. *Alone* counts only the events of OpenLineage's listener, *with* counts all
events. Here every difference from the truth counts as missing or wrong, also the gaps that are listed below. A fact is
an input of a write, or an edge: a column or a condition of an output. The scenarios called `plan_…` test facts that
only a plan shows.
"""
_COLUMNS = (
    "scenario",
    "Spark",
    "writes",
    *(
        f"{mode}: {measure}"
        for mode in ("alone", "with")
        for measure in ("exact writes", "exact facts", "missing", "wrong")
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The number of writes, of exactly reported ones, and of facts that are exact, missing and wrong."""

    writes: int = 0
    exact: int = 0
    missing: int = 0
    wrong: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            writes=self.writes + other.writes,
            exact=self.exact + other.exact,
            missing=self.missing + other.missing,
            wrong=self.wrong + other.wrong,
        )

    def __str__(self) -> str:
        return f"{self.writes} | {self.exact} | {self.missing} | {self.wrong}"


def without_plans(events: Iterable[bytes]) -> Iterator[bytes]:
    """Return the listener's own events."""
    return (line for line in events if _PLAN not in line)


def tally(truth: Truth, events: Iterable[bytes]) -> Tally:
    """Compare what these events give with the truth."""
    reported: dict[str, frozenset[str | Edge]] = {}
    for process in translate_history([decode(line) for line in events]).processes:
        reported_process = truth.as_reported(process)
        reported[reported_process.output] = reported.get(reported_process.output, frozenset()) | _facts(
            reported_process
        )
    true = {process.output: _facts(process) for process in truth.processes}
    pairs = [(true.get(output, frozenset()), reported.get(output, frozenset())) for output in true | reported]
    return Tally(
        writes=sum(true[output] == reported.get(output) for output in true),
        exact=sum(len(should & does) for should, does in pairs),
        missing=sum(len(should - does) for should, does in pairs),
        wrong=sum(len(does - should) for should, does in pairs),
    )


def _facts(process: Expected) -> frozenset[str | Edge]:
    """Its inputs and edges; the listener cannot tell an upper bound from another edge, so both count as one."""
    return frozenset({*process.inputs, *ListenerVersion(indirect=True, masks=True).reports(process.edges)})


def table(known_scenarios: Iterable[Scenario]) -> Iterator[str]:
    """Yield the lines of the table: each scenario captured with plans, by version, and the sums."""
    yield from (*_HEAD.splitlines(), "", f"| {' | '.join(_COLUMNS)} |", "|-" * len(_COLUMNS) + "|")
    sums: dict[str, tuple[int, Tally, Tally]] = {}
    for scenario in known_scenarios:
        for versions in WITH_PLANS:
            events = GOLDEN / versions.name / scenario.name / "events.jsonl"
            if not events.exists() or not_run(scenario.truth, versions.name) is not None:
                continue
            truth, lines = Truth.whole(scenario.truth), events.read_bytes().splitlines()
            alone_tally = tally(truth, without_plans(lines))
            combined_tally = tally(truth, lines)
            spark = versions.platform.short
            yield f"| {scenario.name} | {spark} | {len(truth.processes)} | {alone_tally} | {combined_tally} |"
            previous_sums = sums.get(spark, (0, Tally(), Tally()))
            sums[spark] = (
                previous_sums[0] + len(truth.processes),
                previous_sums[1] + alone_tally,
                previous_sums[2] + combined_tally,
            )
    for spark, (writes, alone_tally, combined_tally) in sums.items():
        yield f"| **all** | {spark} | {writes} | {alone_tally} | {combined_tally} |"
