"""Demands on values: the tags, sources and masks on their paths."""

from collections.abc import Callable, Iterable, Iterator

from shared.governance.checks.findings import (
    Case,
    Finding,
    against,
    broken,
    columnless,
    doubt,
    doubts_on,
    name_of,
    sourceless,
)
from shared.governance.checks.upstream import CheckSubject, Walk, exact, walk
from shared.governance.masks import hides, stopping
from shared.governance.patterns import dataset_matcher
from shared.governance.propagation import TagState
from shared.lineage.document import Edge
from shared.lineage.graph import LineageGraph, Way
from shared.model import EXCLUDED


def no_tag(case: Case) -> Iterator[Finding]:
    """Columns that a classification reaches."""
    subject, lineage = case.subject, case.subject.lineage
    for name in case.wanted.names:
        found = case.tags[name]
        if name in case.unread:
            yield doubt(f"it is not known where {name} begins: {case.unread[name]}")
        for column in subject.columns:
            state = found.state(column)
            way = tuple(map(lineage.step, found.way(column)))
            if state is TagState.TAGGED or found.may_arrive(column):
                yield against(f"{name} reaches {lineage.label(column)}", way, certain=state is TagState.TAGGED)
            elif state is TagState.UNKNOWN:
                at = found.way(column)[0].input if way else column
                yield doubt(f"{lineage.label(column)} is not known to be without {name}: {sourceless(case, at)}", way)
    if not subject.by_column:
        yield from columnless(case, subject.datasets)


def sources_only(case: Case) -> Iterator[Finding]:
    """Nodes where lineage begins that are no allowed source. Lineage upstream of an allowed source does not matter."""
    subject, document = case.subject, case.subject.lineage.document
    allowed = dataset_matcher(case.wanted.names)
    sources = {number for number, each in enumerate(document.datasets) if allowed(each)}
    walked = subject.upstream(sources.__contains__)
    certain = subject.certain(walked, sources.__contains__)
    passed = _passed(case, walked, sources)
    way_from = subject.ways(walked)
    into = subject.lineage.edges_into if subject.by_column else subject.lineage.flows_into
    begins = [node for node in passed if not into.get(node)]
    if subject.by_column:
        begins = [
            node for node in begins if not document.columns[node].constant and node not in subject.lineage.unknown
        ]
    for node in begins:
        dataset = document.columns[node].dataset if subject.by_column else node
        if dataset not in sources and document.datasets[dataset].type != EXCLUDED.type:
            by = certain if node in certain.entered else walked
            way = map(subject.lineage.step, by.way(node)) if subject.by_column else way_from(node)
            yield against(f"{name_of(case, dataset)} is no allowed source", way, certain=by is certain)
    yield from doubts_on(case, walked, passed)


def _passed(case: Case, walked: Walk, sources: set[int]) -> list[int]:
    """The nodes of a walk without the sources at which it ended."""
    columns = case.subject.lineage.document.columns
    return [
        node
        for node, link in walked.entered.items()
        if link is None or (columns[node].dataset if case.subject.by_column else node) not in sources
    ]


def masked_by(case: Case) -> Iterator[Finding]:
    """Sources whose plain value arrives: walk upstream along edges without a wanted mask, to where lineage begins."""
    subject, lineage = case.subject, case.subject.lineage
    document = lineage.document
    unclear: list[Edge] = []
    passes = _unmasked(case, unclear)
    into = {node: [edge for edge in edges if passes(edge)] for node, edges in lineage.edges_into.items()}
    walked, certain = walk(into, subject.columns), walk(exact(into), subject.columns)
    for node in walked.entered:
        if not lineage.edges_into.get(node) and node not in lineage.unknown and not document.columns[node].constant:
            by = certain if node in certain.entered else walked
            way = tuple(map(lineage.step, by.way(node)))
            if way:
                text = f"the plain value of {lineage.label(node)} reaches {way[-1].target}"
                yield against(text, way, certain=by is certain)
            else:
                yield doubt(f"no process writes {lineage.label(node)}")
        elif node in lineage.unknown:
            yield doubt(sourceless(case, node), map(lineage.step, walked.way(node)))
    for edge in unclear:
        if edge.output in walked.entered:
            way = (lineage.step(edge), *map(lineage.step, walked.way(edge.output)))
            yield doubt("a mask's function is in no event: only its result is known to be masked", way)
    if not subject.by_column:
        yield from columnless(case, subject.datasets)


def _unmasked(case: Case, unclear: list[Edge]) -> Callable[[Edge], bool]:
    """A function that tells whether an edge has none of the wanted masks. Masks with an unknown function go to
    `unclear`.
    """
    document, names = case.subject.lineage.document, case.wanted.names
    stops = stopping(document, case.rules.masks, case.facts.now.date())
    if "*" in names:
        return lambda edge: not stops(edge)

    def passes(edge: Edge) -> bool:
        if hides(edge.description, names, document.columns[edge.input].name):
            return False
        if stops(edge) and not edge.description:
            unclear.append(edge)
            return False
        return True

    return passes


def traced(case: Case) -> Iterator[Finding]:
    """Whether enough columns have known sources. It is not known if that depends on what the filters leave out, or on
    columns whose sources are an upper bound.
    """
    subject, lineage = case.subject, case.subject.lineage
    if not subject.columns:
        yield doubt("no column is known")
        return
    share = _traced_share(subject, lineage.unknown - lineage.excluded)
    finding, unknown = broken, lineage.unknown
    if share >= case.wanted.percent:
        unknown = lineage.excluded | lineage.opaque
        share, finding = _traced_share(subject, lineage.unknown | lineage.opaque), doubt
    if share < case.wanted.percent:
        walked = subject.all_columns()
        yield finding(f"{share:.1f} % of {len(subject.columns)} columns are traced")
        for column in unknown & walked.entered.keys():
            yield finding(sourceless(case, column), map(lineage.step, walked.way(column)))


def _traced_share(subject: CheckSubject, unknown: Iterable[int]) -> float:
    """The percentage of a subject's columns that nothing unknown reaches."""
    reached = LineageGraph(subject.lineage.document).columns(unknown, Way.DOWNSTREAM).distance
    return 100 * sum(column not in reached for column in subject.columns) / len(subject.columns)
