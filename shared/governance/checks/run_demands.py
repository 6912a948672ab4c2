"""Demands on the runs upstream: their time, their end, their quality tests, and changes of their lineage."""

from collections.abc import Iterator, Mapping

from shared.governance.checks.findings import Case, Finding, against, broken, doubt, doubts_on, name_of
from shared.governance.checks.upstream import UpstreamStep, Walk
from shared.governance.patterns import dataset_matcher
from shared.lineage.document import NOT_SET, Edge, Flow, Health
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
        seen = [document.processes[each].last_seen for each in writers]
        known = [document.times[each] for each in seen if each != NOT_SET]
        if known and max(known) >= oldest:
            continue
        way = way_from(dataset)
        if len(known) < len(seen):
            yield doubt(f"it is not known when {name_of(case, dataset)} was written", way)
        else:
            text = f"{name_of(case, dataset)} was written at {max(known):%Y-%m-%d %H:%M} UTC"
            yield against(text, way, certain=dataset in certain)
    yield from doubts_on(case, walked, walked.entered)


def every_input(case: Case) -> Iterator[Finding]:
    """Direct inputs that are not certified."""
    subject, lineage = case.subject, case.subject.lineage
    certified = dataset_matcher([pattern for each in case.rules.certified for pattern in each.datasets])
    own = _own_columns(case)
    for dataset in subject.datasets:
        inputs = {each.input: each for each in lineage.flows_into.get(dataset, ()) if each.input != dataset}
        if not inputs:
            yield doubt(f"no process writes {name_of(case, dataset)} from another data set")
        for number, flow in inputs.items():
            if lineage.document.datasets[number].type == EXCLUDED.type:
                yield doubt(f"a filter leaves out an input of {name_of(case, dataset)}")
            elif not certified(lineage.document.datasets[number]):
                yield broken(f"{name_of(case, number)} is not certified", [_nearest(case, flow, own)])
    starts = Walk(entered=dict.fromkeys(subject.columns if subject.by_column else subject.datasets))
    yield from doubts_on(case, starts, starts.entered)


def _own_columns(case: Case) -> Mapping[int, list[int]]:
    """The subject's columns by their data sets."""
    found: dict[int, list[int]] = {}
    for column in case.subject.columns:
        found.setdefault(case.subject.lineage.document.columns[column].dataset, []).append(column)
    return found


def _nearest(case: Case, flow: Flow, own: Mapping[int, list[int]]) -> UpstreamStep:
    """A step of a flow, by column if the flow has one into the subject. `own`: the subject's columns by their data
    sets.
    """
    lineage = case.subject.lineage
    columns = lineage.document.columns
    for column in own.get(flow.output, ()):
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
    own = _own_columns(case)
    for dataset in subject.datasets_of(walked):
        for flow in subject.lineage.flows_into.get(dataset, ()):
            process = document.processes[flow.process]
            if flow.process in judged or process.health not in {Health.FAILED, Health.UNENDED}:
                continue
            judged.add(flow.process)
            way = (_nearest(case, flow, own), *way_from(dataset))
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
        for moment, what in ((link.valid_from, "came"), (link.valid_to, "went")):
            if moment != NOT_SET and document.times[moment] > since:
                step = subject.lineage.step(link)
                when = f"{document.times[moment]:%Y-%m-%d %H:%M} UTC"
                yield broken(
                    f"{step.source} → {step.target} {what} at {when}",
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
        for each in assertions:
            if not each.success and each.severity != _ONLY_WARNS:
                about = f"{name_of(case, dataset)}.{each.column}" if each.column else name_of(case, dataset)
                yield against(f"{each.name} failed on {about}", way_from(dataset), certain=dataset in certain)
    yield from doubts_on(case, walked, walked.entered)
