"""The answers of Marquez' read API from the document: namespaces, data sets, jobs, lineage, search."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from shared.lineage.document import NOT_SET, Edge, Flow
from shared.lineage.graph import Way
from shared.lineage.search_index import rank_of
from shared.serving.marquez_values import (
    ColumnData,
    ColumnGraph,
    ColumnNode,
    DatasetNode,
    FailedQualityTest,
    Field,
    Graph,
    GraphEdge,
    Hierarchy,
    InputField,
    JobNode,
    Level,
    MarquezDataset,
    MarquezDatasets,
    MarquezFacets,
    MarquezJob,
    MarquezJobs,
    Name,
    Namespace,
    Namespaces,
    OutputStatistics,
    Quality,
    SearchResult,
    SearchResults,
)
from shared.serving.requests import bad_request, not_found
from shared.serving.view import Job, LineageView, job_id
from shared.texts import nearest

MAX_NODES = 10_000
"""Nodes of an answer about lineage."""


def namespaces(view: LineageView, limit: int, offset: int) -> Namespaces:
    """The namespaces of data sets and jobs."""
    page = view.namespaces[offset : offset + limit]
    return Namespaces(namespaces=tuple(Namespace(name=name) for name in page), total_count=len(view.namespaces))


def one_namespace(_view: LineageView, namespace: str) -> Namespace:
    """One namespace."""
    return Namespace(name=namespace)


def namespace_of(view: LineageView, name: str) -> str:
    """The namespace of this name. Raises RefusedRequestError."""
    if name in view.jobs_of or name in view.datasets_of:
        return name
    raise not_found(f"there is no namespace {name!r}.{_alike(nearest(name, view.namespaces))}")


def datasets(view: LineageView, namespace: str, limit: int, offset: int) -> MarquezDatasets:
    """The data sets of a namespace by name."""
    numbers = view.datasets_of.get(namespace, ())
    page = tuple(dataset(view, number) for number in numbers[offset : offset + limit])
    return MarquezDatasets(datasets=page, total_count=len(numbers))


def jobs(view: LineageView, namespace: str, limit: int, offset: int) -> MarquezJobs:
    """The jobs of a namespace by name."""
    names = view.jobs_of.get(namespace, ())
    page = tuple(job(view, name) for name in names[offset : offset + limit])
    return MarquezJobs(jobs=page, total_count=len(names))


def dataset(view: LineageView, number: int) -> MarquezDataset:
    """One data set."""
    document, value = view.document, view.document.datasets[number]
    last_times = [document.processes[flow.process].last_seen for flow in view.graph().flows_into(number)]
    return MarquezDataset(
        id=_name(view, number),
        name=value.full_name,
        physical_name=value.qualified_name,
        namespace=value.namespace,
        fields=tuple(
            Field(
                name=document.columns[column].name, type=document.columns[column].type, tags=view.tags.get(column, ())
            )
            for column in view.columns.get(number, ())
        ),
        tags=value.tags,
        description=value.description,
        last_modified_at=_moment(view, max(last_times, default=NOT_SET)),
        facets=_facets(view, number),
    )


def _facets(view: LineageView, number: int) -> MarquezFacets | None:
    """The facets of a data set; None without any."""
    dataset = view.document.datasets[number]
    levels = tuple(Level(type=type_, name=name) for type_, name in dataset.hierarchy)
    is_counted = dataset.rows is not None or dataset.size is not None
    tested = _moment(view, dataset.tested)
    failed = (test for test in view.document.failed_tests if test.dataset == number)
    facets = MarquezFacets(
        hierarchy=Hierarchy(hierarchy=levels) if levels else None,
        output_statistics=OutputStatistics(row_count=dataset.rows, size=dataset.size) if is_counted else None,
        quality=Quality(
            tested_at=tested,
            passed=dataset.passed_tests,
            failed=tuple(
                FailedQualityTest(name=test.name, column=test.column, severity=test.severity, at=test.at)
                for test in failed
            ),
        )
        if tested
        else None,
    )
    return None if facets == MarquezFacets() else facets


def job(view: LineageView, name: Job) -> MarquezJob:
    """One job, of all its processes."""
    processes = [view.document.processes[number] for number in view.jobs[name]]
    firsts = [process.first_seen for process in processes if process.first_seen != NOT_SET]
    return MarquezJob(
        id=Name(namespace=name[0], name=name[1]),
        name=name[1],
        simple_name=name[1],
        namespace=name[0],
        inputs=_names(view, (number for process in processes for number in process.inputs)),
        outputs=_names(view, (number for process in processes for number in process.outputs)),
        location=next((process.link for process in processes if process.link), ""),
        description=next((process.description for process in processes if process.description), ""),
        created_at=_moment(view, min(firsts, default=NOT_SET)),
        updated_at=_moment(view, max(process.last_seen for process in processes)),
    )


def _names(view: LineageView, numbers: Iterable[int]) -> tuple[Name, ...]:
    return tuple(_name(view, number) for number in sorted(set(numbers)) if view.dataset_ids[number])


def _name(view: LineageView, number: int) -> Name:
    value = view.document.datasets[number]
    return Name(namespace=value.namespace, name=value.full_name)


def _moment(view: LineageView, number: int) -> datetime | None:
    return None if number == NOT_SET else view.document.times[number]


def lineage(view: LineageView, node: str, depth: int) -> Graph:
    """What a data set or job is made of, and what is made of it, `depth` data sets away; those of a job itself are one
    away. Raises RefusedRequestError.
    """
    flows: set[Flow] = set()
    processes = view.jobs[view.job_numbers[node]] if node in view.job_numbers else ()
    if processes:
        flows = {flow for number in processes for flow in view.flows_of.get(number, ())} if depth else set()
        up, down = {flow.input for flow in flows}, {flow.output for flow in flows}
        depth = max(depth - 1, 0)
    else:
        up = down = {_dataset_number(view, node)}
    graph = view.graph()
    for starts, way in ((up, Way.UPSTREAM), (down, Way.DOWNSTREAM)):
        flows |= {view.document.flows[number] for number in graph.datasets(starts, way, depth=depth).edges}
    links = set(_links(view, flows))
    nodes = {node, *(end for link in links for end in link)}
    return Graph(graph=tuple(_nodes(view, sorted(_bounded(nodes)), links)))


def _links(view: LineageView, flows: Iterable[Flow]) -> Iterator[tuple[str, str]]:
    """From a data set to a job, and from a job to a data set: those that Marquez can name."""
    for flow in flows:
        process = view.document.processes[flow.process]
        if process.namespace:
            through = job_id((process.namespace, process.identity))
            for link in ((view.dataset_ids[flow.input], through), (through, view.dataset_ids[flow.output])):
                if all(link):
                    yield link


def _bounded(nodes: set[str]) -> set[str]:
    if len(nodes) > MAX_NODES:
        raise bad_request(f"the answer has {len(nodes):,} nodes, and may have {MAX_NODES:,}: ask for a smaller depth")
    return nodes


def _nodes(view: LineageView, ids: Iterable[str], links: set[tuple[str, str]]) -> Iterator[DatasetNode | JobNode]:
    edges_in, edges_out = _edges(links)
    for node in ids:
        edges = {"in_edges": edges_in.get(node, ()), "out_edges": edges_out.get(node, ())}
        if node in view.job_numbers:
            yield JobNode(id=node, data=job(view, view.job_numbers[node]), **edges)
        else:
            yield DatasetNode(id=node, data=dataset(view, view.dataset_numbers[node]), **edges)


_Edges = Mapping[str, tuple[GraphEdge, ...]]


def _edges(links: Iterable[tuple[str, str]]) -> tuple[_Edges, _Edges]:
    """The edges that enter each node, and those that leave it."""
    edges_in: dict[str, tuple[GraphEdge, ...]] = {}
    edges_out: dict[str, tuple[GraphEdge, ...]] = {}
    for origin, destination in sorted(links):
        edge = GraphEdge(origin=origin, destination=destination)
        edges_in[destination] = (*edges_in.get(destination, ()), edge)
        edges_out[origin] = (*edges_out.get(origin, ()), edge)
    return edges_in, edges_out


def column_lineage(view: LineageView, node: str, depth: int, *, downstream: bool) -> ColumnGraph:
    """The columns that the values of a column, a data set's or a job's columns come from, and with `downstream` also
    those that they reach; conditions do not count. Raises RefusedRequestError.
    """
    starts = _columns_of(view, node)
    graph = view.graph()
    upstream_columns = graph.columns(starts, Way.UPSTREAM, depth=depth)
    downstream_columns = graph.columns(starts if downstream else (), Way.DOWNSTREAM, depth=depth)
    document = view.document
    edges = [document.edges[number] for number in upstream_columns.edges | downstream_columns.edges]
    columns = upstream_columns.distance.keys() | downstream_columns.distance.keys()
    ids = {
        number: view.field_id(number)
        for number in columns
        if document.columns[number].name and view.dataset_ids[document.columns[number].dataset]
    }
    _bounded(set(ids.values()))
    links = {(ids[edge.input], ids[edge.output]) for edge in edges if edge.input in ids and edge.output in ids}
    edges_in, edges_out = _edges(links)
    entering: dict[int, list[Edge]] = {}
    for edge in edges:
        entering.setdefault(edge.output, []).append(edge)
    return ColumnGraph(
        graph=tuple(
            ColumnNode(
                id=node_id,
                data=_column(view, number, [edge for edge in entering.get(number, ()) if edge.input in ids]),
                in_edges=edges_in.get(node_id, ()),
                out_edges=edges_out.get(node_id, ()),
            )
            for node_id, number in sorted((node_id, number) for number, node_id in ids.items())
        )
    )


def _columns_of(view: LineageView, node: str) -> tuple[int, ...]:
    if node.startswith("datasetField:"):
        number = view.field_number(node)
        if number is None:
            raise not_found(_unknown(view, node))
        return (number,)
    if node in view.job_numbers:
        processes = (view.document.processes[number] for number in view.jobs[view.job_numbers[node]])
        return tuple(
            column for process in processes for number in process.outputs for column in view.columns.get(number, ())
        )
    return view.columns.get(_dataset_number(view, node), ())


def _column(view: LineageView, number: int, edges: Iterable[Edge]) -> ColumnData:
    document = view.document
    column = document.columns[number]
    name = _name(view, column.dataset)
    return ColumnData(
        namespace=name.namespace,
        dataset=name.name,
        field=column.name,
        field_type=column.type,
        input_fields=tuple(
            InputField(
                namespace=source.namespace,
                dataset=source.name,
                field=document.columns[edge.input].name,
                transformation_type=edge.kind.upper(),
                transformation_description=edge.description,
            )
            for edge in sorted(edges)
            for source in (_name(view, document.columns[edge.input].dataset),)
        ),
    )


def _dataset_number(view: LineageView, node: str) -> int:
    if node not in view.dataset_numbers:
        raise not_found(_unknown(view, node))
    return view.dataset_numbers[node]


_NODE_IDS = "dataset:NAMESPACE:NAME, job:NAMESPACE:NAME and datasetField:NAMESPACE:NAME:FIELD"


def _unknown(view: LineageView, node: str) -> str:
    if not node.startswith(("dataset:", "job:", "datasetField:")):
        return f"{node!r} is no node id: these are {_NODE_IDS}"
    if node.startswith("job:"):
        return f"there is no node {node!r}.{_alike(nearest(node, view.job_numbers))}"
    table = node.rpartition(":")[0] if node.startswith("datasetField:") else node
    ids = (view.dataset_ids[view.datasets[name]] for name in view.nearest(table))
    return f"there is no node {node!r}.{_alike(tuple(filter(None, ids)))}"


def _alike(names: Sequence[str]) -> str:
    return f" The nearest are {', '.join(names)}" if names else ""


def dataset_in(view: LineageView, namespace: str, name: str) -> MarquezDataset:
    """The data set of this namespace and name. Raises RefusedRequestError."""
    return dataset(view, _dataset_number(view, f"dataset:{namespace}:{name}"))


def job_in(view: LineageView, namespace: str, name: str) -> MarquezJob:
    """The job of this namespace and name. Raises RefusedRequestError."""
    if (namespace, name) not in view.jobs:
        raise not_found(_unknown(view, job_id((namespace, name))))
    return job(view, (namespace, name))


def search(view: LineageView, text: str, limit: int, *, kind: str | None, namespace: str | None) -> SearchResults:
    """Data sets and jobs whose names fit, the best first."""
    results: list[tuple[float, int, SearchResult]] = []
    if kind != "JOB":
        for number, rank in view.search.datasets(text):
            value = _name(view, number)
            if view.dataset_ids[number] and namespace in (None, value.namespace):
                result = _result("DATASET", value.namespace, value.name, view.dataset_ids[number])
                results.append((rank, len(view.document.datasets[number].name), result))
    if kind != "DATASET":
        for name in view.jobs:
            fit = rank_of(name[1].lower(), text.lower())
            if fit is not None and namespace in (None, name[0]):
                results.append((float(fit), len(name[1]), _result("JOB", *name, job_id(name))))
    results.sort(key=lambda item: (item[0], item[1], item[2].node_id))
    return SearchResults(total_count=len(results), results=tuple(result for *_, result in results[:limit]))


def _result(kind: str, namespace: str, name: str, node: str) -> SearchResult:
    return SearchResult(name=name, type=kind, namespace=namespace, node_id=node)
