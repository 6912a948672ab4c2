"""The selection that a view shows, and its pictures, diagrams and tables."""

import csv
import io
import re
from xml.etree import ElementTree as ET

import pytest

from shared.lineage.exports import CSV_COLUMNS, Question, Selection, as_csv, as_dot, as_mermaid, select
from shared.lineage.graph import find_column, find_dataset
from shared.lineage.svg import CARD_GAP, CARD_WIDTH, LAYER_GAP, as_svg, layout
from shared.model import EdgeKind
from tests.support.lineage import HOUR, NOON, document, edge, process, random_document

FLOW = document(
    process(
        "clean",
        "raw more",
        "clean",
        edge("raw.email", "clean.hash", masked=True),
        edge("raw.name", "clean.name"),
        edge("more.active", "clean.", kind=EdgeKind.INDIRECT),
    ),
    process("mart", "clean", "mart", edge("clean.name", "mart.names", "AGGREGATION")),
    process("far", "mart", "far", edge("mart.names", "far.names")),
)
NASTY = '</script><b>"x"</b> [a](b);\n\u202eabc😀'


def asked(name: str, column: str = "", **options: object) -> Selection:
    dataset = find_dataset(FLOW, f"lake/{name}")
    number = find_column(FLOW, dataset, column) if column else None
    return select(FLOW, Question(dataset=dataset, column=number, **options))  # type: ignore[arg-type]


def names(selection: Selection) -> dict[str, int]:
    return {selection.document.datasets[number].name: distance for number, distance in selection.datasets.items()}


def columns(selection: Selection) -> set[str]:
    every = selection.document
    return {
        f"{every.datasets[every.columns[column].dataset].name}.{every.columns[column].name}"
        for column in selection.columns
    }


def test_a_data_set_is_shown_with_its_neighbours() -> None:
    assert names(asked("clean")) == {"clean": 0, "raw": -1, "more": -1, "mart": 1}
    assert names(asked("clean", up=0, down=None)) == {"clean": 0, "mart": 1, "far": 2}
    assert columns(asked("mart")) == {"clean.name", "mart.names", "far.names"}


def test_a_column_is_shown_with_its_own_lineage_only() -> None:
    shown_selection = asked("clean", "name", up=None, down=None)
    assert names(shown_selection) == {"clean": 0, "raw": -1, "mart": 1, "far": 2}
    assert columns(shown_selection) == {"raw.name", "clean.name", "mart.names", "far.names"}
    assert len(shown_selection.flows) == 3


def test_conditions_are_shown_and_not_followed() -> None:
    selection = asked("clean", "name", up=None, down=None, conditions=True)
    assert columns(selection) == {"raw.name", "clean.name", "mart.names", "far.names", "more.active", "clean."}
    assert names(selection)["more"] == -1


@pytest.mark.parametrize("seed", range(30))
def test_a_layout_has_no_overlap_and_its_edges_point_right(seed: int) -> None:
    selection = select(random_document(seed), Question())
    heights = {number: 40.0 + 10 * (number % 4) for number in selection.datasets}
    arrows = [(flow.input, flow.output) for flow in selection.shown_flows]
    boxes = layout(heights, arrows)
    assert boxes == layout(heights, list(reversed(arrows)))
    for first_number, first in boxes.items():
        for other, second in boxes.items():
            if first_number < other and first.x == second.x:
                upper, lower = sorted((first, second), key=lambda box: box.y)
                assert upper.y + upper.height + CARD_GAP <= lower.y + 0.001
    assert all(box.x % (CARD_WIDTH + LAYER_GAP) == 0 for box in boxes.values())
    right = sum(boxes[source_number].x < boxes[other].x for source_number, other in arrows)
    assert right >= len(arrows) * 0.5
    assert all(boxes[source_number].x != boxes[other].x for source_number, other in arrows if source_number != other)


def test_a_picture_is_well_formed_and_has_every_card_and_edge() -> None:
    selection = asked("clean", up=None, down=None)
    picture = as_svg(selection, subject=find_dataset(FLOW, "lake/clean"))
    root = ET.fromstring(picture)  # noqa: S314 - our own
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"raw", "more", "clean", "mart", "far", "hash", "names"} <= set(texts)
    assert "mask" in texts, "a mask has a text beside its colour"
    assert picture.count('class="card subject"') == 1
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) == 5
    assert as_svg(selection) == as_svg(asked("clean", up=None, down=None))


def test_an_opaque_edge_looks_like_no_other_kind() -> None:
    flow = document(process("code", "raw", "clean", edge("raw.a", "clean.b", "OPAQUE")))
    picture = select(flow, Question())
    assert '"8 3 2 3"' in as_svg(picture)
    assert ">opaque</text>" in as_svg(picture)
    assert "-. opaque .->" in as_mermaid(picture)
    assert '[style="dashed,bold", tooltip="opaque"]' in as_dot(picture)
    assert ",opaque,no,no," in as_csv(picture)


def test_a_table_has_a_row_for_each_flow_and_edge() -> None:
    rows = list(csv.reader(io.StringIO(as_csv(asked("clean", "hash", up=None, down=None)))))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert [row[:7] for row in rows[1:]] == [
        ["file:///lake/raw", "", "file:///lake/clean", "", "table", "", ""],
        ["file:///lake/raw", "email", "file:///lake/clean", "hash", "mask", "yes", "no"],
    ]


def test_times_of_validity_come_from_the_history() -> None:
    history = random_document(3)
    rows = list(csv.DictReader(io.StringIO(as_csv(select(history, Question(at=NOON + HOUR))))))
    assert {row["valid_from"] for row in rows} <= {time.isoformat() for time in history.times}
    assert any(row["valid_to"] for row in rows)


def test_names_are_escaped_in_every_output_format() -> None:
    nasty = document(process(NASTY, "raw", "clean", edge(f"raw.{NASTY}", f"clean.=1+{NASTY}")))
    selection = select(nasty, Question())
    ET.fromstring(as_svg(selection))  # noqa: S314 - our own
    cell = list(csv.reader(io.StringIO(as_csv(selection), newline="")))[2]
    assert cell[1] == NASTY
    assert cell[3] == f"'=1+{NASTY}"
    mermaid = as_mermaid(selection)
    assert "<b>" not in mermaid
    assert re.fullmatch(r'    c\d+\["[^"<>]*"\]', mermaid.splitlines()[2])
    dot = as_dot(selection)
    assert "<b>x" not in dot.replace("<b>raw", "").replace("<b>clean", "")
    assert "&lt;/script&gt;" in dot


def test_the_same_selection_gives_the_same_bytes() -> None:
    for write in (as_csv, as_mermaid, as_dot, as_svg):
        assert write(select(random_document(5), Question())) == write(select(random_document(5), Question()))
