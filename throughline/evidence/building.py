"""Build a report of a lineage document. Pure: the graph, the propagation of classifications and their rules are those
that the page, `check` and `classify` use.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date

from msgspec import structs

from shared.governance.propagation import TagPropagation, unknown_sources
from shared.governance.rules import Mask, Rules, Selector, TagRule, matching_columns, stopping
from shared.lineage.document import NOT_SET, Edge, Flow, Kind, LineageDocument
from shared.lineage.graph import LineageGraph, Way, excluded_columns
from shared.lineage.questions import LineageIndex
from shared.storage_layout import StoredEvent, process_key
from throughline.evidence.report import (
    Beginning,
    Part,
    Report,
    ReportedProcess,
    Step,
    Unknown,
    events_by_folder,
    events_digest,
)

_IN_EVENT = "OpenLineage's event"
_SOURCELESS = "its source is not known"
_COLUMNLESS = "no column of it is known"
_EXCLUDED = "a filter leaves out the data set, of which nothing is known"
_THROUGH_CODE = "a value may arrive through code that Spark's plan does not show"
_FROM_UNKNOWN = "a value of a column whose source is not known reaches it"


def rules_of_tag(name: str) -> Rules:
    """Rules by which a classification begins wherever a column or data set has a tag of its name; none for no name."""
    return Rules(tags=(TagRule(classification=name, where=Selector(), tag=name),) if name else ())


def of_classification(report: Report, propagation: TagPropagation, rules: Rules, today: date) -> Report:
    """The report with where a classification begins, whence these columns come, where plain values go, and where they
    stop. What masked values become is not followed. `today`: exceptions that have expired by then have no effect.
    """
    document, tagged = propagation.document, propagation.tagged
    graph = LineageGraph(document)
    steps = _Steps(document, _masks_of(document, rules.masks, today))
    upstream = graph.columns(propagation.origins, Way.UPSTREAM).edges
    sources = (document.edges[number] for number in sorted(upstream))
    edges = [(edge, Part.SOURCE) for edge in sources if edge.input not in tagged]
    edges += (
        (edge, _part(edge, propagation, masked=bool(steps.mask(edge))))
        for column in sorted(tagged)
        for edge in graph.out_of(column)
    )
    datasets = {document.columns[column].dataset for column in tagged}
    unknown = [
        *(_unknown(document, column, _reason(propagation, column)) for column in propagation.unknown),
        *_columnless(graph, datasets),
    ]
    return structs.replace(
        report,
        beginnings=tuple(
            sorted(_beginning(document, column, _by_rule(rules, rule)) for column, rule in propagation.origins.items())
        ),
        steps=tuple(sorted(steps.of_edge(edge, part) for edge, part in edges)),
        unknown=tuple(sorted(set(unknown))),
        remarks=(*report.remarks, *_approved(document, propagation, rules, today)),
    )


def _part(edge: Edge, propagation: TagPropagation, *, masked: bool) -> Part:
    if masked:
        return Part.MASKED
    if edge.kind is Kind.OPAQUE:
        return Part.OPAQUE
    return Part.TARGET if edge.output in propagation.tagged else Part.DECLASSIFIED


def of_dataset(report: Report, index: LineageIndex, dataset: int, rules: Rules, today: date) -> Report:
    """The report with all from which a data set's columns come, and all that is made of them, masked or not."""
    document, graph = index.document, index.graph()
    columns = index.columns.get(dataset, ())
    steps = _Steps(document, _masks_of(document, rules.masks, today))
    found_steps: list[Step] = []
    datasets = {dataset}
    for way, part in ((Way.UPSTREAM, Part.SOURCE), (Way.DOWNSTREAM, Part.TARGET)):
        edges = [document.edges[number] for number in graph.columns(columns, way).edges]
        found_steps += (steps.of_edge(edge, Part.MASKED if steps.mask(edge) else part) for edge in edges)
        reached = graph.datasets([dataset], way)
        datasets |= reached.distance.keys()
        found_steps += steps.of_flows((document.flows[number] for number in reached.edges), part)
    unknown = {
        _unknown(document, column, _EXCLUDED if column in excluded_columns(document) else _SOURCELESS)
        for column in unknown_sources(document)
        if document.columns[column].dataset in datasets
    }
    name = document.datasets[dataset].qualified_name
    return structs.replace(
        report,
        beginnings=tuple(
            Beginning(dataset=name, column=document.columns[column].name, said_by="asked for") for column in columns
        )
        or (Beginning(dataset=name, column="", said_by="asked for"),),
        steps=tuple(sorted(set(found_steps))),
        unknown=tuple(sorted({*unknown, *_columnless(graph, datasets)})),
    )


class _Steps:
    """Edges and flows of a document as steps. `masks`: the masks of a rules file, by what tells whether one stops an
    edge.
    """

    def __init__(self, document: LineageDocument, masks: Mapping[Callable[[Edge], bool], str]) -> None:
        self.document, self.masks = document, masks

    def mask(self, edge: Edge) -> str:
        """What stops the value of an edge, and who says so; empty if nothing does."""
        if edge.masked or edge.kind is Kind.MASK:
            return _IN_EVENT
        return next((text for stops, text in self.masks.items() if stops(edge)), "")

    def of_edge(self, edge: Edge, part: Part) -> Step:
        """An edge as a step."""
        document = self.document
        source, target = document.columns[edge.input], document.columns[edge.output]
        return Step(
            part=part,
            from_dataset=document.datasets[source.dataset].qualified_name,
            from_column=source.name,
            to_dataset=document.datasets[target.dataset].qualified_name,
            to_column=target.name,
            kind=edge.kind.value,
            said_by=_said_by(document, edge),
            process=document.processes[edge.process].qualified_name,
            mask=self.mask(edge),
            expression=edge.description,
            valid_from=_time(document, edge.valid_from),
            valid_to=_time(document, edge.valid_to),
        )

    def of_flows(self, flows: Iterable[Flow], part: Part) -> Iterator[Step]:
        """The flows of which no column is known, as steps between data sets."""
        document = self.document
        columns = document.columns
        named = {(edge.process, columns[edge.input].dataset, columns[edge.output].dataset) for edge in document.edges}
        for flow in flows:
            if (flow.process, flow.input, flow.output) not in named:
                yield Step(
                    part=part,
                    from_dataset=document.datasets[flow.input].qualified_name,
                    to_dataset=document.datasets[flow.output].qualified_name,
                    kind="table",
                    said_by=_said_by(document, flow),
                    process=document.processes[flow.process].qualified_name,
                    valid_from=_time(document, flow.valid_from),
                    valid_to=_time(document, flow.valid_to),
                )


def _said_by(document: LineageDocument, link: Edge | Flow) -> str:
    """Who says that a value goes this way; the first that holds."""
    process = document.processes[link.process]
    if process.catalog_type:
        return f"the catalog, where another program wrote it ({process.catalog_type})"
    is_parsed = link.parsed if isinstance(link, Edge) else link.input in process.parsed_inputs
    if is_parsed:
        return "the SQL text"
    if process.exact and isinstance(link, Edge):
        return "Spark's plan"
    return "the listener"


def _by_rule(rules: Rules, rule: TagRule) -> str:
    """Who says that a classification begins in a column."""
    subjects = [
        f"the tag {rule.tag}, of an event or of `classify apply`" if rule.tag else "",
        f"the classification {rule.classified_as} in the catalog" if rule.classified_as else "",
    ]
    place = f"by hand: {rules.file}, line {rule.line}" if rule.line else ""
    return ", for ".join(filter(None, (place, " and ".join(filter(None, subjects)))))


def _masks_of(document: LineageDocument, masks: Iterable[Mask], today: date) -> dict[Callable[[Edge], bool], str]:
    return {
        stopping(document, (mask,), today): (
            f"by hand: line {mask.line}, {mask.approval.author} until {mask.approval.expires}: {mask.approval.reason}"
        )
        for mask in masks
        if mask.approval.is_valid(today)
    }


def _approved(document: LineageDocument, propagation: TagPropagation, rules: Rules, today: date) -> Iterator[str]:
    """The exceptions by which columns do not have the classification."""
    for exception in rules.declassified(propagation.classification, today):
        columns = ", ".join(
            f"{document.datasets[document.columns[column].dataset].qualified_name}.{document.columns[column].name}"
            for column in sorted(matching_columns(document, exception.where))
        )
        approval = exception.approval
        yield (
            f"Declassified by {approval.author} until {approval.expires} (line {exception.line}, {approval.reason}):"
            f" {columns or 'no column'}"
        )


def _reason(propagation: TagPropagation, column: int) -> str:
    if column in excluded_columns(propagation.document):
        return _EXCLUDED
    if propagation.may_arrive(column):
        return _THROUGH_CODE
    return _SOURCELESS if propagation.unknown[column] is None else _FROM_UNKNOWN


def _columnless(graph: LineageGraph, datasets: Collection[int]) -> Iterator[Unknown]:
    """The data sets that are written from these, or are some of these, and of which no column is known."""
    document = graph.document
    named = {column.dataset for column in document.columns if column.name}
    near = {flow.output for dataset in datasets for flow in graph.flows_out_of(dataset)}
    written_datasets = {number for number in datasets if any(graph.flows_into(number))}
    for number in sorted((near | written_datasets) - named):
        yield Unknown(dataset=document.datasets[number].qualified_name, column="", reason=_COLUMNLESS)


def _unknown(document: LineageDocument, column: int, reason: str) -> Unknown:
    fact = document.columns[column]
    return Unknown(dataset=document.datasets[fact.dataset].qualified_name, column=fact.name, reason=reason)


def _beginning(document: LineageDocument, column: int, said_by: str) -> Beginning:
    fact = document.columns[column]
    return Beginning(dataset=document.datasets[fact.dataset].qualified_name, column=fact.name, said_by=said_by)


def _time(document: LineageDocument, number: int) -> str:
    return "" if number == NOT_SET else document.times[number].isoformat()


def process_keys(report: Report) -> frozenset[str]:
    """The keys of the processes of its steps."""
    return frozenset(process_key(step.process) for step in report.steps)


def with_processes(
    report: Report, document: LineageDocument, events: Mapping[str, Collection[StoredEvent]] | None
) -> Report:
    """The report with the processes of its steps, and the `events` that each rests on, by its key; None where these
    could not be listed.
    """
    names = {step.process for step in report.steps}
    processes = []
    for process in document.processes:
        if process.qualified_name in names:
            stored = (events or {}).get(process_key(process.qualified_name), ())
            processes.append(
                ReportedProcess(
                    qualified_name=process.qualified_name,
                    name=process.name,
                    job=process.job,
                    platform=process.platform,
                    workspace=process.workspace,
                    link=process.link,
                    owner=process.owner,
                    operations=process.operations,
                    first_seen=_time(document, process.first_seen),
                    last_seen=_time(document, process.last_seen),
                    last_run=process.last_run,
                    events=len(stored),
                    digest=events_digest(events_by_folder(stored)) if stored else "",
                )
            )
    folders = events_by_folder({event for stored in (events or {}).values() for event in stored})
    foreign = {process.qualified_name for process in document.processes if process.catalog_type}
    number_without = sum(not process.digest and process.qualified_name not in foreign for process in processes)
    remarks = list(report.remarks)
    if events is None:
        remarks.append("No record could be read, so the events that the lineage rests on are not listed.")
    elif number_without:
        remarks.append(f"No stored event was found of {number_without:,} of the processes: their digest is empty.")
    if number_foreign := len(foreign & names):
        remarks.append(f"{number_foreign:,} of the processes are other programs', by the catalog: no event has them.")
    return structs.replace(
        report, processes=tuple(processes), events=folders, digest=events_digest(folders), remarks=tuple(remarks)
    )
