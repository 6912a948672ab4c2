"""Opaque edges beside exact ones, and before and after them: of several runs, and through a staging data set."""

from itertools import permutations, product
from typing import Any

import pytest

from shared.lineage.document import Kind, kind_of
from shared.model import DIRECT, OPAQUE, Asset, Column, ColumnEdge, Contribution, Process, RunLineage, Span
from shared.openlineage.decoding import decode
from shared.translation.process.union import union_edges
from shared.translation.reference import translate_history
from shared.translation.run.application import LifecycleEvents
from shared.translation.run.translate import translate
from shared.translation.staging_elimination import eliminate_staging
from tests.support.building import START, dataset, merged
from tests.support.events import event

IDENTITY, CHANGE, SUM = ("IDENTITY",), ("TRANSFORMATION",), ("AGGREGATION",)


def _edge(steps: tuple[str, ...], *, masked: bool = False, start: str = "/in", end: str = "/out") -> ColumnEdge:
    return ColumnEdge(
        input=Column(qualified_name=start, column="c"),
        output=Column(qualified_name=end, column="c"),
        kind=DIRECT,
        how=steps,
        masked=masked,
    )


COPY, CHANGED, SUMMED = _edge(IDENTITY), _edge(CHANGE), _edge(SUM)
MASKED, CODE, MASKED_CODE = _edge(CHANGE, masked=True), _edge((OPAQUE,)), _edge((OPAQUE,), masked=True)


def _kind(edge: ColumnEdge) -> tuple[Kind, bool]:
    return kind_of(edge.kind, edge.how, masked=edge.masked), edge.masked


@pytest.mark.parametrize(
    ("first_edge", "other", "kind"),
    [
        (COPY, CODE, (Kind.IDENTITY, False)),
        (CHANGED, CODE, (Kind.TRANSFORMATION, False)),
        (SUMMED, CODE, (Kind.AGGREGATION, False)),
        (COPY, MASKED_CODE, (Kind.IDENTITY, False)),
        (CODE, CODE, (Kind.OPAQUE, False)),
        (CODE, MASKED_CODE, (Kind.OPAQUE, False)),
        (MASKED_CODE, MASKED_CODE, (Kind.OPAQUE, True)),
        (MASKED, CODE, (Kind.OPAQUE, False)),  # beside the mask the plain value may arrive
        (MASKED, MASKED_CODE, (Kind.MASK, True)),
        (MASKED, COPY, (Kind.TRANSFORMATION, False)),
    ],
)
def test_an_exact_edge_goes_before_an_opaque_one_but_a_mask_does_not(
    first_edge: ColumnEdge, other: ColumnEdge, kind: tuple[Kind, bool]
) -> None:
    for pair in permutations((first_edge, other)):
        (united_edge,) = union_edges(pair)
        assert _kind(united_edge) == kind


def test_edges_are_one_in_whatever_order_and_groups_they_come() -> None:
    for three in product((COPY, CHANGED, SUMMED, MASKED, CODE, MASKED_CODE), repeat=3):
        (united_edge,) = union_edges(three)
        assert union_edges([*union_edges(three[:2]), three[2]]) == (united_edge,)
        assert union_edges([three[0], *union_edges(three[1:])]) == (united_edge,)


def _process(start: str, end: str, column_edge: ColumnEdge) -> Contribution:
    inputs, outputs = (Asset(type="fs_path", qualified_name=name, namespace="file", name=name) for name in (start, end))
    columns = (_edge(column_edge.how, masked=column_edge.masked, start=start, end=end),)
    process = Process(
        qualified_name=f"process{end}",
        name=end,
        operations=("insert",),
        inputs=(inputs,),
        outputs=(outputs,),
        columns=columns,
        exact=True,
    )
    return Contribution(application_run="app", content=process, seen=Span(first=START, last=START))


@pytest.mark.parametrize(
    ("earlier", "later_edge", "kind"),
    [
        (COPY, CODE, (Kind.OPAQUE, False)),
        (CODE, COPY, (Kind.OPAQUE, False)),
        (CODE, SUMMED, (Kind.OPAQUE, False)),
        (CODE, CODE, (Kind.OPAQUE, False)),
        (MASKED, CODE, (Kind.OPAQUE, False)),
        (CODE, MASKED, (Kind.OPAQUE, True)),
        (MASKED, COPY, (Kind.MASK, True)),
    ],
)
def test_what_passes_a_staging_data_set_is_opaque_if_a_part_of_its_way_is(
    earlier: ColumnEdge, later_edge: ColumnEdge, kind: tuple[Kind, bool]
) -> None:
    history = [_process("/in", "/stage", earlier), _process("/stage", "/out", later_edge)]
    staged = eliminate_staging(history, LifecycleEvents(dropped={"/stage": START}))
    (remaining,) = [staging_result.remains for staging_result in staged if staging_result.remains]
    (edge,) = remaining.content.columns
    assert (edge.input.qualified_name, edge.output.qualified_name) == ("/in", "/out")
    assert _kind(edge) == kind


SCRIPT = "CREATE TABLE o AS SELECT TRANSFORM(a) USING 'cat' AS (c) FROM {}"


@pytest.mark.parametrize("table", ["delta.`/in`", "delta.`/other`"])
def test_a_script_in_the_statement_alone_gives_upper_bounds(table: str) -> None:
    sink = dataset("/out", schema={"fields": [{"name": "c", "type": "string"}]})
    sink["facets"]["symlinks"] = {"identifiers": [{"namespace": "file", "name": "default.o", "type": "TABLE"}]}
    run = merged(
        inputs=["/in"],
        outputs=[sink],
        job="app.execute_create_hive_table_as_select_command.out",
        job_facets={"sql": {"query": SCRIPT.format(table)}},
    )
    lineage = translate(run)
    assert isinstance(lineage, RunLineage)
    ((edge,),) = [process.columns for process in lineage.processes]
    assert (edge.input.column, edge.output.column, edge.is_opaque, edge.parsed) == ("a", "c", True, True)


def test_a_script_over_a_table_of_another_run_gives_upper_bounds() -> None:
    tables = {"/rates": "default.rates", "/out": "default.o", "/b": "default.b"}
    script = "INSERT INTO o (c) SELECT TRANSFORM(a) USING 'cat' AS (x) FROM rates"
    app: dict[str, Any] = {"application": "app", "tables": tables}
    events = [
        event("a", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/rates"], **app),
        event("b", "COMPLETE", "10:05:00", inputs=["/b"], outputs=["/out"], sql=script, **app),
    ]
    history = translate_history(map(decode, events))
    (process,) = [process for process in history.processes if process.outputs[0].name == "/out"]
    assert [(edge.input.column, edge.is_opaque) for edge in process.columns] == [("a", True)]
