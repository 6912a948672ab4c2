"""Demands of policies, on the runs upstream and on values.

On runs: their time, their end, their quality tests, changes of their lineage. On values: the tags, sources and masks
on their paths.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from shared.governance.checks.findings import (
    Case,
    CheckSubject,
    Finding,
    UpstreamStep,
    Walk,
    against,
    broken,
    columnless,
    doubt,
    doubts_on,
    exact,
    name_of,
    sourceless,
    walk,
)
from shared.governance.propagation import TagState
from shared.governance.rules import dataset_matcher, hides, stopping
from shared.lineage.document import NOT_SET, Edge, Flow, Health
from shared.lineage.graph import LineageGraph, Way
from shared.model import EXCLUDED

_ONLY_WARNS = "warn"
"""The severity of a quality test whose failure does not block."""


def fresh_within(case: Case) -> Iterator[Finding]:
    """Data sets whose last write is too old. A data set that no process writes is a source and has no age."""
    subject, document = case.subject, case.subject.lineage.document
    walked = subject.upstream()
    way_from, certain = subject.ways(walked), subject.certain_datasets(walked)
    oldest = case.facts.now - case.wanted.within
    for dataset in subject.datasets_of(walked):
        writers = {flow.process for flow in subject.lineage.flows_into.get(dataset, ())}
        if not writers:
            if dataset in subject.datasets:
                yield doubt(f"no process writes {name_of(case, dataset)}")
            continue
        last_writes = [document.processes[process].last_seen for process in writers]
        known_times = [document.times[number] for number in last_writes if number != NOT_SET]
        if known_times and max(known_times) >= oldest:
            continue
        way = way_from(dataset)
        if len(known_times) < len(last_writes):
            yield doubt(f"it is not known when {name_of(case, dataset)} was written", way)
        else:
            text = f"{name_of(case, dataset)} was written at {max(known_times):%Y-%m-%d %H:%M} UTC"
            yield against(text, way, certain=dataset in certain)
    yield from doubts_on(case, walked, walked.entered)


def every_input(case: Case) -> Iterator[Finding]:
    """Direct inputs that are not certified."""
    subject, lineage = case.subject, case.subject.lineage
    certified = dataset_matcher([pattern for certificate in case.rules.certified for pattern in certificate.datasets])
    own_columns = _own_columns(case)
    for dataset in subject.datasets:
        inputs = {flow.input: flow for flow in lineage.flows_into.get(dataset, ()) if flow.input != dataset}
        if not inputs:
            yield doubt(f"no process writes {name_of(case, dataset)} from another data set")
        for number, flow in inputs.items():
            if lineage.document.datasets[number].type == EXCLUDED.type:
                yield doubt(f"a filter leaves out an input of {name_of(case, dataset)}")
            elif not certified(lineage.document.datasets[number]):
                yield broken(f"{name_of(case, number)} is not certified", [_nearest(case, flow, own_columns)])
    starts = Walk(entered=dict.fromkeys(subject.columns if subject.by_column else subject.datasets))
    yield from doubts_on(case, starts, starts.entered)


def _own_columns(case: Case) -> Mapping[int, list[int]]:
    """The subject's columns by their data sets."""
    by_dataset: dict[int, list[int]] = {}
    for column in case.subject.columns:
        by_dataset.setdefault(case.subject.lineage.document.columns[column].dataset, []).append(column)
    return by_dataset


def _nearest(case: Case, flow: Flow, own_columns: Mapping[int, list[int]]) -> UpstreamStep:
    """A step of a flow, by column if the flow has one into the subject. `own_columns`: the subject's columns by
    their data sets.
    """
    lineage = case.subject.lineage
    columns = lineage.document.columns
    for column in own_columns.get(flow.output, ()):
        for edge in lineage.edges_into.get(column, ()):
            ends = (columns[edge.input].dataset, columns[edge.output].dataset)
            if edge.process == flow.process and ends == (flow.input, flow.output):
                return lineage.step(edge)
    return lineage.step(flow)


def no_failed_upstream(case: Case) -> Iterator[Finding]:
    """Processes whose last run failed."""
    subject, document = case.subject, case.subject.lineage.document
    walked = subject.upstream()
    way_from, certain = subject.ways(walked), subject.certain_datasets(walked)
    judged: set[int] = set()
    own_columns = _own_columns(case)
    for dataset in subject.datasets_of(walked):
        for flow in subject.lineage.flows_into.get(dataset, ()):
            process = document.processes[flow.process]
            if flow.process in judged or process.health not in {Health.FAILED, Health.UNENDED}:
                continue
            judged.add(flow.process)
            way = (_nearest(case, flow, own_columns), *way_from(dataset))
            if process.health is Health.FAILED:
                text = f"the last run of {process.name}, which writes {name_of(case, dataset)}, failed"
                yield against(text, way, certain=dataset in certain)
            else:
                yield doubt(
                    f"the last run of {process.name}, which writes {name_of(case, dataset)}, has not ended", way
                )
    yield from doubts_on(case, walked, walked.entered)


def unchanged_since(case: Case) -> Iterator[Finding]:
    """Edges and flows that were added or removed since then."""
    subject, document = case.subject, case.subject.lineage.document
    since = case.wanted.since
    if since is None or not document.history:
        yield doubt("the record has no history: check a lake instead, named by --lake")
        return
    walked = subject.upstream()
    links: tuple[Edge | Flow, ...] = document.edges if subject.by_column else (*document.flows, *document.edges)
    columns, nodes = document.columns, set(walked.entered)
    for link in links:
        is_edge = isinstance(link, Edge)
        node = link.output if subject.by_column or not is_edge else columns[link.output].dataset
        if node not in nodes:
            continue
        for moment, event in ((link.valid_from, "came"), (link.valid_to, "went")):
            if moment != NOT_SET and document.times[moment] > since:
                step = subject.lineage.step(link)
                when = f"{document.times[moment]:%Y-%m-%d %H:%M} UTC"
                yield broken(
                    f"{step.source} → {step.target} {event} at {when}",
                    (step, *map(subject.lineage.step, walked.way(node))),
                )
    yield from doubts_on(case, walked, walked.entered)


def quality_passed(case: Case) -> Iterator[Finding]:
    """Assertions that failed. Those of severity `warn` do not count: their failure does not block a pipeline
    (OpenLineage's DataQualityAssertionsDatasetFacet).
    """
    subject, document = case.subject, case.subject.lineage.document
    if case.facts.quality is None:
        yield doubt("the record has no results of quality tests: check a lake instead, named by --lake")
        return
    walked = subject.upstream()
    way_from, certain = subject.ways(walked), subject.certain_datasets(walked)
    for dataset in subject.datasets_of(walked):
        assertions = case.facts.quality.get(document.datasets[dataset].qualified_name, ())
        if not assertions and dataset in subject.datasets:
            yield doubt(f"{name_of(case, dataset)} has no quality assertion")
        for assertion in assertions:
            if not assertion.success and assertion.severity != _ONLY_WARNS:
                place = f"{name_of(case, dataset)}.{assertion.column}" if assertion.column else name_of(case, dataset)
                yield against(f"{assertion.name} failed on {place}", way_from(dataset), certain=dataset in certain)
    yield from doubts_on(case, walked, walked.entered)


def no_tag(case: Case) -> Iterator[Finding]:
    """Columns that a classification reaches."""
    subject, lineage = case.subject, case.subject.lineage
    for name in case.wanted.names:
        propagation = case.tags[name]
        if name in case.unread:
            yield doubt(f"it is not known where {name} begins: {case.unread[name]}")
        for column in subject.columns:
            state = propagation.state(column)
            way = tuple(map(lineage.step, propagation.way(column)))
            if state is TagState.TAGGED or propagation.may_arrive(column):
                yield against(f"{name} reaches {lineage.label(column)}", way, certain=state is TagState.TAGGED)
            elif state is TagState.UNKNOWN:
                origin = propagation.way(column)[0].input if way else column
                yield doubt(
                    f"{lineage.label(column)} is not known to be without {name}: {sourceless(case, origin)}", way
                )
    if not subject.by_column:
        yield from columnless(case, subject.datasets)


def sources_only(case: Case) -> Iterator[Finding]:
    """Nodes where lineage begins that are no allowed source. Lineage upstream of an allowed source does not matter."""
    subject, document = case.subject, case.subject.lineage.document
    allowed = dataset_matcher(case.wanted.names)
    sources = {number for number, dataset_fact in enumerate(document.datasets) if allowed(dataset_fact)}
    walked = subject.upstream(sources.__contains__)
    certain = subject.certain(walked, sources.__contains__)
    passed = _passed(case, walked, sources)
    way_from = subject.ways(walked)
    links = subject.lineage.edges_into if subject.by_column else subject.lineage.flows_into
    begins = [node for node in passed if not links.get(node)]
    if subject.by_column:
        begins = [
            node for node in begins if not document.columns[node].constant and node not in subject.lineage.unknown
        ]
    for node in begins:
        dataset = document.columns[node].dataset if subject.by_column else node
        if dataset not in sources and document.datasets[dataset].type != EXCLUDED.type:
            route = certain if node in certain.entered else walked
            way = map(subject.lineage.step, route.way(node)) if subject.by_column else way_from(node)
            yield against(f"{name_of(case, dataset)} is no allowed source", way, certain=route is certain)
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
    links = {node: [edge for edge in edges if passes(edge)] for node, edges in lineage.edges_into.items()}
    walked, certain = walk(links, subject.columns), walk(exact(links), subject.columns)
    for node in walked.entered:
        if not lineage.edges_into.get(node) and node not in lineage.unknown and not document.columns[node].constant:
            route = certain if node in certain.entered else walked
            way = tuple(map(lineage.step, route.way(node)))
            if way:
                text = f"the plain value of {lineage.label(node)} reaches {way[-1].target}"
                yield against(text, way, certain=route is certain)
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
