"""What becomes of a demand: its findings, and what they are made from.

A way that passes a column without a known source, or a data set that is written from a table without place, is a doubt:
so no demand holds where lineage is not known (`traced` measures that, and has none).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.governance.checks.upstream import Step, Subject, Walk
from shared.governance.propagation import Propagation
from shared.governance.rules import Rules, Wanted


class Verdict(StrEnum):
    """What became of a demand."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What breaks a demand, or is not known of it, with the shortest way from there."""

    verdict: Verdict
    text: str
    way: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """The last result of a quality test of a data set, or of its column. `severity`: as its event has it, or empty."""

    name: str
    success: bool
    column: str = ""
    severity: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known beside lineage. `quality`: assertions by qualified name; None: nothing was read of them."""

    now: datetime
    quality: Mapping[str, tuple[Assertion, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One demand on one subject. `unread`: why it is not known where classifications begin, by their names."""

    wanted: Wanted
    subject: Subject
    rules: Rules
    facts: Facts
    tags: Mapping[str, Propagation] = field(repr=False)
    unread: Mapping[str, str] = field(default_factory=dict)


def broken(text: str, way: Iterable[Step] = ()) -> Finding:
    """A finding that breaks the demand."""
    return Finding(verdict=Verdict.BROKEN, text=text, way=tuple(way))


def doubt(text: str, way: Iterable[Step] = ()) -> Finding:
    """A finding that is not known."""
    return Finding(verdict=Verdict.UNKNOWN, text=text, way=tuple(way))


def doubts_on(case: Case, walked: Walk, nodes: Iterable[int]) -> Iterator[Finding]:
    """What is not known on a walk of `upstream`, at these nodes."""
    subject, lineage = case.subject, case.subject.lineage
    passed = list(nodes)
    if subject.by_column:
        for node in passed:
            if node in lineage.unknown:
                yield doubt(sourceless(case, node), map(lineage.step, walked.way(node)))
        return
    datasets = set(passed)
    for column in sorted(lineage.unknown):
        dataset = lineage.document.columns[column].dataset
        if dataset in datasets:
            yield doubt(sourceless(case, column), map(lineage.step, walked.way(dataset)))
    yield from columnless(case, passed)


def columnless(case: Case, datasets: Iterable[int]) -> Iterator[Finding]:
    """Data sets that a process writes, and of which no column is known."""
    lineage = case.subject.lineage
    for dataset in datasets:
        if dataset not in lineage.named and (lineage.flows_into.get(dataset) or dataset in lineage.unresolved):
            yield doubt(f"no column of {name_of(case, dataset)} is known")


def sourceless(case: Case, column: int) -> str:
    """The sentence about a column without a known source."""
    return f"the source of {case.subject.lineage.label(column)} is not known"


def name_of(case: Case, dataset: int) -> str:
    """A data set for people."""
    return case.subject.lineage.document.datasets[dataset].name
