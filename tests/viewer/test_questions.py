"""The page's answers to 200 seeded questions, read from its elements, are those of naive traversals and the library."""

import random
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode

import pytest

from shared.lineage.document import NOT_SET, Edge, Flow, Kind, LineageDocument
from shared.lineage.exports import Question, select
from shared.serving.view import page
from tests.support.lineage import dependents, random_document
from tests.viewer.browser.driver import Browser

QUESTIONS = 200
DOCUMENTS = 5

READ = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const tableOf = (each) => each.closest("[data-dataset]").dataset.dataset;
  const names = (list) => [...list].map((each) => each.dataset.linkColumn).filter(Boolean);
  return {
    datasets: all("#layer [data-dataset]").map((each) => [each.dataset.dataset, Number(each.dataset.depth)]),
    columns: all("#layer [data-dataset] [data-column]").map((each) => [tableOf(each), each.dataset.column]),
    edges: all("#layer [data-edge]").map(({ dataset }) => [dataset.from, dataset.to, dataset.kind]),
    impact: all("[data-impact]").map((each) => [each.dataset.impact, names(each.querySelectorAll("button"))]),
  };
}"""


def valid(item: Edge | Flow, document: LineageDocument, moment: datetime | None) -> bool:
    began = item.valid_from == NOT_SET or moment is None or document.times[item.valid_from] <= moment
    is_over = item.valid_to != NOT_SET and (moment is None or document.times[item.valid_to] <= moment)
    return began and not is_over


def walked(start: int, arrows: set[tuple[int, int]], depth: int | None) -> dict[int, int]:
    """Traverse naively: check all arrows in each step."""
    distances, distance = {start: 0}, 0
    while depth is None or distance < depth:
        distance += 1
        new = {end for arrow_start, end in arrows if arrow_start in distances} - distances.keys()
        if not new:
            break
        distances |= dict.fromkeys(new, distance)
    return distances


def signed(up: dict[int, int], down: dict[int, int]) -> dict[int, int]:
    nodes = up.keys() | down.keys()
    far = 10**9
    return {node: -up[node] if up.get(node, far) < down.get(node, far) else down.get(node, far) for node in nodes}


def expected(
    document: LineageDocument,
    dataset: int,
    column: int | None,
    steps: tuple[int | None, int | None],
    moment: datetime | None,
) -> dict[str, object]:
    """Return the content that the page must show, by naive traversals of the document."""
    values = [edge for edge in document.edges if edge.kind is not Kind.CONDITION and valid(edge, document, moment)]
    flows = [flow for flow in document.flows if valid(flow, document, moment)]
    names = [dataset.qualified_name for dataset in document.datasets]
    links: list[Edge] | list[Flow] = flows if column is None else values
    arrows = {(link.input, link.output) for link in links}
    start = dataset if column is None else column
    up = walked(start, {(b, a) for a, b in arrows}, steps[0])
    down = walked(start, arrows, steps[1])
    if column is None:
        shown_signed = signed(up, down)
        return {
            "datasets": {(names[number], distance) for number, distance in shown_signed.items()},
            "edges": {(names[a], names[b], "table") for a, b in arrows if a in shown_signed and b in shown_signed},
        }
    ends = {number: (names[column.dataset], column.name) for number, column in enumerate(document.columns)}

    def within(near: dict[int, int], node: int, depth: int | None) -> bool:
        return node in near and (depth is None or near[node] < depth)

    return {
        "columns": {ends[number] for number in signed(up, down)},
        "edges": {
            ("\n".join(ends[edge.input]), "\n".join(ends[edge.output]), edge.kind.value)
            for edge in values
            if within(up, edge.output, steps[0]) or within(down, edge.input, steps[1])
        },
    }


@pytest.mark.parametrize("seed", range(DOCUMENTS))
def test_the_page_shows_the_document(browser: Browser, tmp_path: Path, seed: int) -> None:
    document = random_document(seed, tables=14, processes=24)
    file = tmp_path / "page.html"
    file.write_bytes(page(document))
    browser.open(file)
    draw = random.Random(seed)
    for _ in range(QUESTIONS // DOCUMENTS):
        dataset = draw.randrange(len(document.datasets))
        column_numbers = [
            number for number, column in enumerate(document.columns) if column.dataset == dataset and column.name
        ]
        column = draw.choice(column_numbers) if column_numbers and draw.random() < 0.6 else None
        steps = (draw.choice((0, 1, 2, None)), draw.choice((0, 1, 2, None)))
        moment = draw.choice((None, *document.times))
        state = {
            "asset": document.datasets[dataset].qualified_name,
            "column": "" if column is None else document.columns[column].name,
            "up": "all" if steps[0] is None else str(steps[0]),
            "down": "all" if steps[1] is None else str(steps[1]),
            "tables": "1",
            "at": "" if moment is None else moment.isoformat().replace("+00:00", "Z"),
        }
        browser.go(urlencode({name: value for name, value in state.items() if value}))
        page_content = browser.run(READ)
        expected_content = expected(document, dataset, column, steps, moment)
        if column is None:
            assert {tuple(dataset) for dataset in page_content["datasets"]} == expected_content["datasets"], state
        else:
            assert {tuple(column) for column in page_content["columns"]} == expected_content["columns"], state
        assert {tuple(edge) for edge in page_content["edges"]} == expected_content["edges"], state
        question = Question(dataset=dataset, column=column, up=steps[0], down=steps[1], at=moment)
        selection = select(document, question)
        assert {document.datasets[dataset].qualified_name for dataset in selection.datasets} == {
            name for name, _ in page_content["datasets"]
        }
    assert browser.problems == []


@pytest.mark.parametrize("conditions", [False, True], ids=["values", "and conditions"])
def test_impact_is_everything_downstream(browser: Browser, tmp_path: Path, conditions: bool) -> None:
    """By the same traversal that tests/lake/test_differential.py compares `gold/impact` with."""
    document = random_document(11, tables=14, processes=24)
    file = tmp_path / "page.html"
    file.write_bytes(page(document))
    browser.open(file)
    reached = dependents(document, conditions=conditions)
    for number, column in enumerate(document.columns):
        if not column.name:
            continue
        name = document.datasets[column.dataset].qualified_name
        state = {"asset": name, "column": column.name, "view": "impact", "conditions": "1" if conditions else ""}
        browser.go(urlencode({key: value for key, value in state.items() if value}))
        expected_impact: dict[str, set[str]] = {}
        for column_number in reached[number]:
            other = document.columns[column_number]
            if other.dataset != column.dataset:
                names = expected_impact.setdefault(document.datasets[other.dataset].qualified_name, set())
                names |= {other.name} - {""}
        page_impact = {name: set(columns) for name, columns in browser.run(READ)["impact"]}
        assert page_impact == expected_impact
