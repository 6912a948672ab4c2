"""Findings: what breaks a demand or leaves it unknown, and the facts that they are made from.

A path through a column without a known source, or through a data set that is written from a table without a known
place, is a doubt. So no demand holds where lineage is not known. (`traced` measures exactly that, and has no doubts.)
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.governance.checks.upstream import CheckSubject, UpstreamStep, Walk
from shared.governance.propagation import TagPropagation
from shared.governance.rules import Rules, Wanted


class Verdict(StrEnum):
    """The result of a demand."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause that breaks a demand or leaves it unknown, with the shortest path from the cause to the subject."""

    verdict: Verdict
    text: str
    way: tuple[UpstreamStep, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityAssertion:
    """The last result of a quality test of a data set or a column. `severity`: from the event, empty if it has none."""

    name: str
    success: bool
    column: str = ""
    severity: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a check needs besides lineage. `quality`: assertions by qualified name; None: no results were read.
    `excluded`: the names of data sets that filters leave out of the lineage.
    """

    now: datetime
    quality: Mapping[str, tuple[QualityAssertion, ...]] | None = None
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One demand on one subject. `unread`: by classification, why its origins are not known."""

    wanted: Wanted
    subject: CheckSubject
    rules: Rules
    facts: Facts
    tags: Mapping[str, TagPropagation] = field(repr=False)
    unread: Mapping[str, str] = field(default_factory=dict)


def broken(text: str, way: Iterable[UpstreamStep] = ()) -> Finding:
    """A finding that breaks the demand."""
    return Finding(verdict=Verdict.BROKEN, text=text, way=tuple(way))


def doubt(text: str, way: Iterable[UpstreamStep] = ()) -> Finding:
    """A finding that leaves the demand unknown."""
    return Finding(verdict=Verdict.UNKNOWN, text=text, way=tuple(way))


def against(text: str, way: Iterable[UpstreamStep] = (), *, certain: bool) -> Finding:
    """A finding that breaks the demand. It leaves it unknown if its path is not `certain`: along an opaque edge the
    value may arrive or not.
    """
    return broken(text, way) if certain else doubt(f"{text} (only through {IN_CODE}, if at all)", way)


IN_CODE = "code that Spark's plan does not show"


def doubts_on(case: Case, walked: Walk, nodes: Iterable[int]) -> Iterator[Finding]:
    """The doubts at these nodes of a walk upstream."""
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
    """A doubt for each data set that a process writes and that has no known column."""
    lineage = case.subject.lineage
    for dataset in datasets:
        if dataset not in lineage.named and (lineage.flows_into.get(dataset) or dataset in lineage.unresolved):
            yield doubt(f"no column of {name_of(case, dataset)} is known")


def sourceless(case: Case, column: int) -> str:
    """The sentence about a column without a known source, or with an upper bound of its sources."""
    if column in case.subject.lineage.excluded:
        return "a filter leaves out a source, of which nothing is known"
    if column not in case.subject.lineage.unknown:
        return f"{IN_CODE} makes {case.subject.lineage.label(column)}: its sources are an upper bound"
    return f"the source of {case.subject.lineage.label(column)} is not known"


def name_of(case: Case, dataset: int) -> str:
    """The name of a data set for messages."""
    return case.subject.lineage.document.datasets[dataset].name
