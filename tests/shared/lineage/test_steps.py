"""Lineage process by process: steps of data sets and of columns, both ways, circles, conditions; and the tree."""

import io
import json
from collections.abc import Callable

import pytest
from msgspec import structs
from rich.console import Console

from shared.lineage.building import KnownProcess, document_of
from shared.lineage.graph import AmbiguousNameError, UnknownNameError, Way
from shared.lineage.questions import LineageIndex
from shared.lineage.steps import Branch, Direction, Lineage, lineage_of, tree
from shared.model import EdgeKind, Process
from tests.support.lineage import edge, process, random_document
from throughline.cli.commands.lineage.show import lineage_tree


def job(name: str, read: str, target_name: str, *pairs: tuple[str, str]) -> Process:
    """A job that makes columns of columns, and whose rows the column `day` decides."""
    edges = (edge(f"{read}.{source_column}", f"{target_name}.{other}") for source_column, other in pairs)
    return process(
        name, read, target_name, *edges, edge(f"{read}.day", f"{target_name}.", "FILTER", kind=EdgeKind.INDIRECT)
    )


JOBS = (
    job("a", "raw/people", "clean/people", ("first", "name"), ("last", "name"), ("born", "age")),
    job("b", "raw/cities", "clean/cities", ("city", "city")),
    job("c", "clean/people", "mart/customers", ("name", "customer"), ("age", "age")),
    job("d", "clean/cities", "mart/places", ("city", "place")),
    job("e", "mart/customers", "raw/people", ("customer", "first")),
)
"""people → clean → mart → people: a circle; cities beside it."""
INDEX = LineageIndex(document_of("record", [KnownProcess(process=lineage_process) for lineage_process in JOBS]))


def asked(
    name: str, direction: Direction = "both", depth: int = 3, column: str = "", *, conditions: bool = False
) -> Lineage:
    dataset = INDEX.dataset(name)
    number = INDEX.column(dataset, column) if column else None
    return lineage_of(INDEX, dataset, direction=direction, depth=depth, column=number, conditions=conditions)


def names(lineage: Lineage) -> list[str]:
    return ["/".join(dataset.qualified_name.rsplit("/", 2)[1:]) for dataset in lineage.datasets]


def test_lineage_is_followed_in_both_directions_to_the_requested_depth() -> None:
    assert names(asked("mart/places", "upstream", 1)) == ["clean/cities"]
    assert names(asked("mart/places", "upstream")) == ["clean/cities", "raw/cities"]
    assert names(asked("raw/cities", "downstream")) == ["clean/cities", "mart/places"]
    assert names(asked("mart/places", "downstream")) == []
    lineage = asked("clean/cities")
    assert sorted(names(lineage)) == ["mart/places", "raw/cities"]
    assert {step.direction for step in lineage.steps} == {"upstream", "downstream"}


def test_only_the_requested_column_is_followed() -> None:
    up = asked("mart/customers", "upstream", 2, "age")
    assert [step.columns for step in up.steps] == [(("age", "age"),), (("born", "age"),)]
    assert [column for _, column in up.columns] == ["age", "born"]
    assert [column for _, column in asked("raw/people", "downstream", 2, "last").columns] == ["name", "customer"]
    assert asked("mart/places", "downstream", column="place").steps == ()


def test_a_circle_is_followed_once() -> None:
    circle = asked("mart/customers", "upstream", 20)
    assert sorted(names(circle)) == ["clean/people", "raw/people"]
    assert [step.depth for step in circle.steps] == [1, 2, 3]


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: asked("/nowhere"), UnknownNameError, "no data set like '/nowhere'"),
        (lambda: asked("mart/custmers"), UnknownNameError, "The nearest are .*mart/customers"),
        (lambda: asked("people"), AmbiguousNameError, "2 data sets match 'people'"),
        (lambda: asked("mart/places", column="plaec"), UnknownNameError, r"no column 'plaec'\. Did you mean place"),
        (lambda: asked("mart/places", depth=0), ValueError, "the depth is 1 or more"),
        (lambda: asked("mart/places", "sideways"), ValueError, "one of upstream, downstream, both"),  # type: ignore[arg-type] # on purpose
        (lambda: INDEX.subject("mart/places.plaec"), UnknownNameError, r"Did you mean place\?"),
        (lambda: INDEX.subject("mart/plcaes.place"), UnknownNameError, "The nearest are .*mart/places"),
    ],
)
def test_an_unanswerable_question_raises_an_error(
    ask: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ask()


def test_a_subject_is_a_data_set_or_a_column() -> None:
    places = INDEX.dataset("mart/places")
    assert INDEX.subject("mart/places") == (places, None)
    assert INDEX.subject("mart/places.place") == (places, INDEX.column(places, "place"))
    assert INDEX.subject("mart places") == (places, None), "all words of a name"


@pytest.mark.parametrize(
    ("question", "columns", "with_conditions"),
    [
        (("clean/cities", "upstream", 3, ""), {"city"}, {"city", "day"}),
        (("clean/cities", "upstream", 3, "city"), {"city"}, {"city", "day"}),
        (("raw/cities", "downstream", 3, "city"), {"city", "place"}, {"city", "place"}),
        (("raw/cities", "downstream", 3, "day"), set(), {""}),
    ],
)
def test_conditions_are_shown_on_demand(
    question: tuple[str, Direction, int, str], columns: set[str], with_conditions: set[str]
) -> None:
    assert {column for _, column in asked(*question).columns} == columns
    assert {column for _, column in asked(*question, conditions=True).columns} == with_conditions


def test_a_step_has_the_kind_of_each_pair() -> None:
    (step,) = asked("mart/places", "upstream", 1, conditions=True).steps
    assert dict(zip(step.columns, step.kinds, strict=True)) == {
        ("city", "place"): "identity",
        ("day", ""): "condition",
    }
    assert (step.name, step.operations) == ("d", JOBS[3].operations)


def test_a_step_says_that_another_program_told_the_catalog() -> None:
    processes = tuple(
        structs.replace(lineage_process, catalog_type="powerbi_report_process")
        for lineage_process in INDEX.document.processes
    )
    foreign = LineageIndex(structs.replace(INDEX.document, processes=processes))
    (step,) = lineage_of(foreign, foreign.dataset("mart/places"), direction="upstream", depth=1).steps
    assert step.catalog_type == "powerbi_report_process"
    shown_console = Console(file=io.StringIO(), width=120)
    shown_console.print(lineage_tree(lineage_of(foreign, foreign.dataset("mart/places")), columns=False))
    assert "d from the catalog, powerbi_report_process" in shown_console.file.getvalue()  # type: ignore[attr-defined] # StringIO


def test_lineage_can_be_written_as_json() -> None:
    document = json.loads(json.dumps(asked("mart/places", depth=1).document()))
    (single_step,) = document["steps"]
    assert single_step["output"]["qualified_name"].endswith("mart/places")
    assert single_step["columns"] == [["city", "place"]]
    assert document["column"] is None


@pytest.mark.parametrize("seed", range(20))
def test_steps_of_random_documents_reach_what_the_graph_reaches(seed: int) -> None:
    index = LineageIndex(random_document(seed))
    for number, dataset in enumerate(index.document.datasets):
        lineage = lineage_of(index, number, direction="upstream", depth=2)
        writers = {flow.input for flow in index.graph().flows_into(number)}
        beyond = {flow.input for near in writers for flow in index.graph().flows_into(near)}
        expected = {index.document.datasets[end].qualified_name for end in writers | beyond}
        assert {end.qualified_name for end in lineage.datasets} == expected - {dataset.qualified_name}


def walked(branches: tuple[Branch, ...]) -> list[object]:
    return [
        [branch.name, [(step.far.name, step.columns, walked(beyond)) for step, beyond in branch.ends]]
        for branch in branches
    ]


def seen(jobs: tuple[str, ...], base: str, direction: Direction, depth: int) -> list[object]:
    processes = [process(pair, pair[0], pair[1], edge(f"{pair[0]}.x", f"{pair[1]}.y")) for pair in jobs]
    index = LineageIndex(
        document_of("record", [KnownProcess(process=lineage_process) for lineage_process in processes])
    )
    lineage = lineage_of(index, index.dataset(base), direction=direction, depth=depth)
    return walked(tree(lineage, Way(direction)))


PAIR = (("x", "y"),)


@pytest.mark.parametrize(
    ("jobs", "base", "direction", "depth", "branches"),
    [
        (("ab", "bc", "cd"), "/d", "upstream", 2, [["cd", [("c", PAIR, [["bc", [("b", PAIR, [])]]])]]]),
        (("ab", "bc", "cd"), "/d", "upstream", 1, [["cd", [("c", PAIR, [])]]]),
        (("ab", "bc", "cd"), "/a", "upstream", 3, []),
        (("ab", "ac"), "/a", "downstream", 3, [["ab", [("b", PAIR, [])]], ["ac", [("c", PAIR, [])]]]),
        (("ab", "ba"), "/a", "downstream", 9, [["ab", [("b", PAIR, [["ba", [("a", PAIR, [])]]])]]]),
        (
            ("ab", "ac", "bc", "cd"),
            "/a",
            "downstream",
            9,
            [["ab", [("b", PAIR, [["bc", [("c", PAIR, [])]]])]], ["ac", [("c", PAIR, [["cd", [("d", PAIR, [])]]])]]],
        ),
    ],
)
def test_the_tree_shows_each_data_set_where_it_is_nearest(
    jobs: tuple[str, ...], base: str, direction: Direction, depth: int, branches: list[object]
) -> None:
    assert seen(jobs, base, direction, depth) == branches
