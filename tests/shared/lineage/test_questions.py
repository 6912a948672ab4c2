"""Questions about one document: what depends on a node, the ways between two, differences, nearest names."""

import pytest

from shared.lineage.dataset_facts import job_of
from shared.lineage.document import NOT_SET, LineageDocument
from shared.lineage.graph import LineageGraph, find_column, find_dataset
from shared.lineage.questions import Difference, LineageIndex, dependents, differences, edges_between, flows_between
from shared.model import EdgeKind
from shared.naming.stores.families import Identity
from shared.translation.process.identity import JobIdentity, Strength, name_process
from tests.support.lineage import asset, document, edge, process, random_document
from tests.support.lineage import dependents as naive_dependents

CONDITION = edge("raw.active", "clean.", kind=EdgeKind.INDIRECT)
CLEAN = process(
    "clean", "raw", "clean", edge("raw.mail", "clean.mail"), edge("raw.active", "clean.", kind=EdgeKind.INDIRECT)
)
MART = process("mart", "clean", "mart", edge("clean.mail", "mart.mail", masked=True), edge("clean.mail", "mart.domain"))
DOCUMENT = document(CLEAN, MART)


def numbers(lineage_document: LineageDocument, text: str) -> tuple[int, int]:
    table, _, column = text.rpartition(".")
    dataset = find_dataset(lineage_document, asset(table).qualified_name)
    return dataset, find_column(lineage_document, dataset, column)


def test_dependents_of_a_column_have_their_columns_distance_and_processes() -> None:
    dataset, column = numbers(DOCUMENT, "raw.mail")
    near, far = dependents(LineageGraph(DOCUMENT), dataset=dataset, column=column)
    assert (near.dataset, near.distance) == (find_dataset(DOCUMENT, asset("clean").qualified_name), 1)
    assert [DOCUMENT.columns[number].name for number in far.columns] == ["domain", "mail"]
    assert [DOCUMENT.processes[number].name for number in far.processes] == ["clean", "mart"]


def test_a_condition_reaches_all_rows_of_a_data_set() -> None:
    dataset, column = numbers(DOCUMENT, "raw.active")
    assert dependents(LineageGraph(DOCUMENT), dataset=dataset, column=column) == ()
    (dependent,) = dependents(LineageGraph(DOCUMENT, conditions=True), dataset=dataset, column=column)
    assert [DOCUMENT.columns[number].name for number in dependent.columns] == [""]


@pytest.mark.parametrize("seed", range(30))
def test_dependents_of_random_documents_are_those_of_a_naive_walk(seed: int) -> None:
    lineage_document = random_document(seed)
    graph, naive = LineageGraph(lineage_document), naive_dependents(lineage_document, conditions=False)
    for number, column in enumerate(lineage_document.columns):
        if not column.name:
            continue
        answer = dependents(graph, dataset=column.dataset, column=number)
        expected = {other: far for other, far in naive.get(number, {}).items() if lineage_document.columns[other].name}
        assert {
            other for dependent in answer for other in dependent.columns if lineage_document.columns[other].name
        } == set(expected) - {number}
        for one in answer:
            assert one.distance == min(expected[other] for other in one.columns if other in expected)


@pytest.mark.parametrize("seed", range(10))
def test_edges_between_two_columns_are_those_of_a_naive_walk(seed: int) -> None:
    lineage_document = random_document(seed)
    graph = LineageGraph(lineage_document)
    values = [lineage_document.edges[number] for number in graph.edges]
    reachable_columns = {start: {start} for start in range(len(lineage_document.columns))}
    for reached in reachable_columns.values():
        for _ in values:
            reached |= {column_edge.output for column_edge in values if column_edge.input in reached}
    for start in range(0, len(lineage_document.columns), 3):
        for end in range(1, len(lineage_document.columns), 5):
            expected = [
                column_edge
                for column_edge in values
                if column_edge.input in reachable_columns[start] and end in reachable_columns[column_edge.output]
            ]
            assert edges_between(graph, start, end) == tuple(sorted(expected))


def test_the_flows_between_two_data_sets() -> None:
    first, last = (find_dataset(DOCUMENT, asset(name).qualified_name) for name in ("raw", "mart"))
    assert [DOCUMENT.processes[flow.process].name for flow in flows_between(LineageGraph(DOCUMENT), first, last)] == [
        "clean",
        "mart",
    ]
    assert flows_between(LineageGraph(DOCUMENT), last, first) == ()


def test_differences_name_what_came_and_went() -> None:
    masked = process("clean", "raw", "clean", edge("raw.mail", "clean.mail", masked=True))
    changes = differences(document(CLEAN, MART), document(masked))
    clean, raw, mart = (asset(name).qualified_name for name in ("clean", "raw", "mart"))
    assert changes.datasets == Difference(added=(), removed=((mart,),))
    assert changes.processes == Difference(added=(), removed=((MART.qualified_name,),))
    assert changes.flows.removed == ((MART.qualified_name, clean, mart),)
    assert changes.edges.added == ((CLEAN.qualified_name, raw, "mail", clean, "mail", "mask"),)
    empty_changes = differences(DOCUMENT, DOCUMENT)
    assert not any(
        getattr(empty_changes, kind).added or getattr(empty_changes, kind).removed
        for kind in empty_changes.__struct_fields__
    )


def test_the_nearest_names_of_an_unknown_one() -> None:
    index = LineageIndex(DOCUMENT)
    assert index.nearest("dataset:file:/lake/claen") == (asset("clean").qualified_name,)
    assert index.nearest("zzz") == ()
    assert {DOCUMENT.columns[number].name for number in index.columns[find_dataset(DOCUMENT, "mart")]} == {
        "domain",
        "mail",
    }
    assert all(DOCUMENT.edges[number].valid_to == NOT_SET for number in index.graph().edges)
    assert index.graph() is index.graph()


@pytest.mark.parametrize(("namespace", "job"), [("prod", "load orders"), ("spark/eu", "a/b c%"), ("file://x", "É")])
def test_the_job_of_a_process_is_read_from_its_name(namespace: str, job: str) -> None:
    sink = Identity(namespace="file", name="/lake/orders")
    name, _ = name_process(namespace, JobIdentity(strength=Strength.JOB, name=job), sink)
    assert job_of(name) == (namespace, job)
    assert job_of("throughline://excluded/jobs") == ("", "")
