"""A run of a listener's events and of Spark's plan."""

import msgspec
import pytest

from shared.openlineage.decoding import Event, decode
from shared.translation.run.columns import merge_run
from shared.translation.run.facts import columns_by
from tests.support.building import Json, body, dataset, lineage, packed, source
from tests.support.plans import LITERAL, PlanBuilder, alias, call, column, facet


def _events(first: Json, second: Json, *, with_plan: bool) -> list[Event]:
    """A run whose events name its output in two ways; the plan has a part that is not known."""
    start = body("START", inputs=["/in"], outputs=[first])
    end = body("COMPLETE", inputs=["/in"], outputs=[second], minute=1)
    if with_plan:
        plans = PlanBuilder()
        read_table = plans.table("file:/in", column(1, "a"), column(2, "b"))
        unknown = plans.add("Mystery", child=read_table, output=[column(1, "a")])
        document = plans.writing(plans.project(unknown, column(1, "a")))
        end["run"]["facets"]["throughline_plan"] = msgspec.to_builtins(facet(document))
    return [decode(packed(start)), decode(packed(end))]


@pytest.mark.parametrize("with_plan", [False, True], ids=["events alone", "with a plan"])
def test_column_lineage_of_each_spelling_of_an_output_is_kept(*, with_plan: bool) -> None:
    described = dataset("/out", columnLineage=lineage({"b2": [source("/in", "b")]}))
    spelled = dataset("/out/")
    for first, second in ((described, spelled), (spelled, described)):
        run = merge_run(_events(first, second, with_plan=with_plan))
        assert bool(run.plan_gaps) == with_plan
        assert "b2" in {name for output in run.outputs for name, _ in output.fields}


A, X = column(1, "a"), column(9, "x")


@pytest.mark.parametrize(
    ("nodes_after", "opaque"),
    [
        ({"MapInPandas": {"output": [X]}}, True),
        ({"MapInPandas": {"output": [X]}, "Project": {"projectList": [alias(5, "h", call("Md5", X))]}}, True),
        ({"MapInPandas": {"output": [X]}, "Project": {"projectList": [alias(5, "one", LITERAL)]}}, False),
        ({"Project": {"projectList": [A]}}, False),
        ({"Filter": {"condition": call("PythonUDF", A)}}, False),
    ],
)
def test_a_run_is_opaque_if_what_a_column_is_made_of_is_an_upper_bound(
    nodes_after: dict[str, Json], opaque: bool
) -> None:
    plans = PlanBuilder()
    query = plans.table("file:/in", A)
    for kind, fields in nodes_after.items():
        query = plans.add(kind, child=query, **fields)
    event = body("COMPLETE", inputs=["/in"], outputs=["/out"])
    event["run"]["facets"]["throughline_plan"] = msgspec.to_builtins(facet(plans.writing(query)))
    run = merge_run([decode(packed(event))])
    assert (run.exact_by_plan, run.opaque) == (True, opaque)
    assert columns_by(run) == ("opaque" if opaque else "plan")


def test_an_exact_way_beside_code_is_no_upper_bound() -> None:
    plans = PlanBuilder()
    code = plans.add("MapInPandas", output=[X], child=plans.table("file:/in", A))
    query = plans.add("Union", children=[plans.table("file:/in", A), code])
    event = body("COMPLETE", inputs=["/in"], outputs=["/out"])
    event["run"]["facets"]["throughline_plan"] = msgspec.to_builtins(facet(plans.writing(query)))
    run = merge_run([decode(packed(event))])
    assert (run.exact_by_plan, run.opaque) == (True, False)
