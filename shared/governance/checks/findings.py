"""Findings: what breaks a demand or leaves it unknown, and the facts that they are made from.

The facts are the data sets and columns upstream of a policy's subject, and the paths from there. A path through a
column without a known source, or through a data set that is written from a table without a known place, is a doubt. So
no demand holds where lineage is not known.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from operator import attrgetter

from shared.governance.propagation import TagPropagation, unknown_sources
from shared.governance.rules import Rules, Selector, Wanted, matching_columns, matching_datasets
from shared.lineage.document import Edge, Flow, Kind, LineageDocument
from shared.lineage.graph import LineageGraph, excluded_columns, label, reach, way_back

Link = Edge | Flow


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamStep:
    """A step of a path, for people: `crm.email` → `gold.mail` by a process. `kind`: of the edge; empty for a flow."""

    source: str
    target: str
    process: str
    kind: str = ""

    def __str__(self) -> str:
        """One line of a message."""
        kind = f" ({self.kind})" if self.kind else ""
        return f"{self.source} → {self.target} by {self.process}{kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The nodes upstream (columns, or data sets), each with the next link of a shortest path down; None for a start."""

    entered: Mapping[int, Link | None]

    def way(self, node: int) -> tuple[Link, ...]:
        """The links of the path from a node down to a start."""
        return tuple(way_back(self.entered, node, attrgetter("output")))


def walk(
    links: Mapping[int, Iterable[Link]], starts: Iterable[int], ends: Callable[[int], bool] = lambda _: False
) -> Walk:
    """Walk upstream from the starts. A node that `ends` the walk is reached but not passed, unless it is a start."""
    beginnings = dict.fromkeys(starts)

    def steps(node: int) -> Iterator[tuple[Link, int]]:
        if node in beginnings or not ends(node):
            yield from ((link, link.input) for link in links.get(node, ()))

    return Walk(entered=reach(beginnings, steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamLineage:
    """A document, indexed by the links that enter each column and data set now."""

    document: LineageDocument
    edges_into: Mapping[int, Sequence[Edge]]
    flows_into: Mapping[int, Sequence[Flow]]
    unknown: frozenset[int]
    excluded: frozenset[int]
    """Columns that stand for those of data sets that the filters leave out; they are unknown too."""
    opaque: frozenset[int]
    """Columns that opaque edges enter: their sources are an upper bound."""
    unresolved: frozenset[int]
    named: frozenset[int]
    """Data sets of which a column is known."""

    def label(self, column: int) -> str:
        """The name of a column for messages."""
        fact = self.document.columns[column]
        return label(self.document.datasets[fact.dataset], fact.name)

    def step(self, link: Link) -> UpstreamStep:
        """A link as a step for messages."""
        process = self.document.processes[link.process].name
        if isinstance(link, Edge):
            kind = str(link.kind)
            return UpstreamStep(
                source=self.label(link.input), target=self.label(link.output), process=process, kind=kind
            )
        datasets = self.document.datasets
        return UpstreamStep(source=datasets[link.input].name, target=datasets[link.output].name, process=process)


def exact(links: Mapping[int, Iterable[Edge]]) -> Mapping[int, Iterable[Edge]]:
    """The edges that enter each column without opaque ones."""
    return {node: [edge for edge in edges if edge.kind is not Kind.OPAQUE] for node, edges in links.items()}


def lineage_of(document: LineageDocument) -> UpstreamLineage:
    """Index a document."""
    graph = LineageGraph(document)
    edges: dict[int, list[Edge]] = {}
    flows: dict[int, list[Flow]] = {}
    for edge in map(document.edges.__getitem__, graph.edges):
        edges.setdefault(edge.output, []).append(edge)
    for flow in map(document.flows.__getitem__, graph.flows):
        flows.setdefault(flow.output, []).append(flow)
    unresolved = {out for process in document.processes if process.unresolved_tables for out in process.outputs}
    return UpstreamLineage(
        document=document,
        edges_into=edges,
        flows_into=flows,
        unknown=unknown_sources(document),
        excluded=excluded_columns(document),
        opaque=frozenset(edge.output for incoming in edges.values() for edge in incoming if edge.kind is Kind.OPAQUE),
        unresolved=frozenset(unresolved),
        named=frozenset(column.dataset for column in document.columns if column.name),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSubject:
    """The columns and data sets that a policy is about. `by_column`: only these columns, not the whole data sets."""

    lineage: UpstreamLineage
    columns: tuple[int, ...]
    datasets: tuple[int, ...]
    by_column: bool

    def of(self, dataset: int) -> "CheckSubject":
        """The part of the subject that is in one data set."""
        columns = self.lineage.document.columns
        own_columns = tuple(column for column in self.columns if columns[column].dataset == dataset)
        return replace(self, columns=own_columns, datasets=(dataset,))

    def upstream(self, ends: Callable[[int], bool] = lambda _: False) -> Walk:
        """Walk upstream, by columns or by data sets; `ends` takes the number of a data set."""
        if not self.by_column:
            return walk(self.lineage.flows_into, self.datasets, ends)
        columns = self.lineage.document.columns
        return walk(self.lineage.edges_into, self.columns, lambda node: ends(columns[node].dataset))

    def datasets_of(self, walked: Walk) -> tuple[int, ...]:
        """The data sets on a walk of `upstream`, the nearest first."""
        if not self.by_column:
            return tuple(walked.entered)
        return tuple(dict.fromkeys(self.lineage.document.columns[node].dataset for node in walked.entered))

    def ways(self, walked: Walk) -> Callable[[int], tuple[UpstreamStep, ...]]:
        """A function that gives the shortest path from a data set of a walk: column by column if there is such a path,
        else data set by data set; empty for the subject's own data sets.
        """
        step, columns = self.lineage.step, self.all_columns()
        nearest: dict[int, int] = {}
        for node in columns.entered:
            nearest.setdefault(self.lineage.document.columns[node].dataset, node)

        def steps(dataset: int) -> tuple[UpstreamStep, ...]:
            if dataset in self.datasets:
                return ()
            if dataset in nearest:
                return tuple(map(step, columns.way(nearest[dataset])))
            return () if self.by_column else tuple(map(step, walked.way(dataset)))

        return steps

    def all_columns(self) -> Walk:
        """The walk of all columns of the subject."""
        return walk(self.lineage.edges_into, self.columns)

    def certain(self, walked: Walk, ends: Callable[[int], bool] = lambda _: False) -> Walk:
        """The part of a walk of `upstream` that is more than an upper bound: by columns, without opaque edges."""
        if not self.by_column or not self.lineage.opaque:
            return walked
        columns = self.lineage.document.columns
        return walk(exact(self.lineage.edges_into), self.columns, lambda node: ends(columns[node].dataset))

    def certain_datasets(self, walked: Walk) -> frozenset[int]:
        """The data sets on that part."""
        return frozenset(self.datasets_of(self.certain(walked)))


def subject_of(lineage: UpstreamLineage, selector: Selector) -> CheckSubject:
    """The columns and data sets that a selector names."""
    document = lineage.document
    by_column = bool(selector.columns or selector.types)
    columns = tuple(sorted(matching_columns(document, selector)))
    datasets = (
        {document.columns[column].dataset for column in columns}
        if by_column
        else matching_datasets(document, selector.datasets)
    )
    return CheckSubject(lineage=lineage, columns=columns, datasets=tuple(sorted(datasets)), by_column=by_column)


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
