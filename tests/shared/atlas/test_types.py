"""Column lineage in Atlas' own form, made from a process's column mapping."""

from itertools import permutations

import pytest
from msgspec.structs import replace

from shared.atlas.columns import LONGEST_NAME, name_within
from shared.atlas.entities import ProcessEntity, process_entity
from shared.atlas.types import ColumnLineageStep, OwnColumn, column_lineage
from shared.model import Column, ColumnEdge, EdgeKind
from shared.translation.process.union import ALL_ROWS
from tests.support.building import process

OUT = "file:///out"


def edge(source: str, column: str, output: str, kind: EdgeKind = EdgeKind.DIRECT) -> ColumnEdge:
    return ColumnEdge(
        input=Column(qualified_name=source, column=column), output=Column(qualified_name=OUT, column=output), kind=kind
    )


def entity(*edges: ColumnEdge, inputs: tuple[str, ...] = ("/a", "/b")) -> ProcessEntity:
    return process_entity(replace(process(*inputs), columns=tuple(sorted(edges))))


def test_each_output_column_has_a_column_lineage_step() -> None:
    own_entity = entity(
        edge("file:///a", "first", "full"),
        edge("file:///a", "last", "full"),
        edge("file:///b", "id", "id"),
        edge("file:///b", "id", "copy"),
        edge("file:///b", "when", "full", EdgeKind.INDIRECT),
        edge("file:///b", "when", ALL_ROWS),
    )
    own_lineage = column_lineage(own_entity)
    assert [(column.name, column.qualified_name, column.asset) for column in own_lineage.columns] == [
        ("out.copy", "copy@fs_path:file:///out", ("fs_path", OUT)),
        ("a.first", "first@fs_path:file:///a", ("fs_path", "file:///a")),
        ("out.full", "full@fs_path:file:///out", ("fs_path", OUT)),
        ("b.id", "id@fs_path:file:///b", ("fs_path", "file:///b")),
        ("out.id", "id@fs_path:file:///out", ("fs_path", OUT)),
        ("a.last", "last@fs_path:file:///a", ("fs_path", "file:///a")),
    ]
    assert {(step.name, step.inputs) for step in own_lineage.steps} == {
        ("out.full", ("first@fs_path:file:///a", "last@fs_path:file:///a")),
        ("out.id", ("id@fs_path:file:///b",)),
        ("out.copy", ("id@fs_path:file:///b",)),
    }
    assert all(step.qualified_name.startswith(f"{own_entity.qualified_name}#") for step in own_lineage.steps)


def test_the_order_of_edges_does_not_change_column_lineage() -> None:
    edges = (edge("file:///a", "x", "z"), edge("file:///b", "y", "z"), edge("file:///a", "x", "w"))
    assert len({column_lineage(entity(*order)) for order in permutations(edges)}) == 1


def test_a_step_with_other_edges_has_another_name() -> None:
    (column_lineage_step_before,) = column_lineage(entity(edge("file:///a", "x", "z"))).steps
    (column_lineage_step_after,) = column_lineage(
        entity(edge("file:///a", "x", "z"), edge("file:///b", "y", "z"))
    ).steps
    assert column_lineage_step_before.output == column_lineage_step_after.output
    assert column_lineage_step_before.qualified_name != column_lineage_step_after.qualified_name


def test_an_edge_from_an_asset_outside_the_process_makes_no_column() -> None:
    assert column_lineage(entity(edge("file:///elsewhere", "x", "z"))).columns == ()
    assert column_lineage(entity()).steps == ()


@pytest.mark.parametrize("letter", ["x", "ü", "日"])
def test_names_of_columns_and_steps_stay_within_the_name_limit(letter: str) -> None:
    long = letter * (4090 // len(letter.encode()))
    own_lineage = column_lineage(entity(edge("file:///a", f"{long}1", long), edge("file:///a", f"{long}2", long)))
    texts = [text for column in own_lineage.columns for text in (column.qualified_name, column.name)]
    texts += [text for step in own_lineage.steps for text in (step.qualified_name, step.name)]
    assert max(len(text.encode()) for text in texts) <= LONGEST_NAME
    assert len({column.qualified_name for column in own_lineage.columns}) == 3, "different ones stay different"


def test_a_name_within_the_limit_is_not_shortened() -> None:
    assert name_within("x" * LONGEST_NAME) == "x" * LONGEST_NAME
    assert len(name_within("x" * (LONGEST_NAME + 1)).encode()) <= LONGEST_NAME


def test_the_size_limit_of_the_mapping_also_limits_column_lineage_steps() -> None:
    """The mapping's limit of 32 KB applies to this form too."""
    own_entity = entity(*(edge("file:///a", f"a_column_of_19_{n:04}", f"a_column_of_19_{n:04}") for n in range(1000)))
    own_lineage = column_lineage(own_entity)
    assert 300 < len(own_lineage.steps) < 1000
    assert isinstance(own_lineage.columns[0], OwnColumn)
    assert isinstance(own_lineage.steps[0], ColumnLineageStep)
