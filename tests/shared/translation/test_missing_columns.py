"""Why a process has no columns: a reason for each kind of run that gives none."""

from typing import Any

import pytest

from shared.model import Contribution, Span
from shared.translation.aggregate import aggregate
from shared.translation.missing_columns import why_no_columns
from shared.translation.run.translate import Skip, Wait, translate
from tests.support.building import IDENTITY, START, dataset, lineage, merged, source, step

SEEN = Span(first=START, last=START)
SCHEMA = {"fields": [{"name": "a", "type": "int"}]}
COPIED = dataset("/out", schema=SCHEMA, columnLineage=lineage({"a": [source("/in", "a", IDENTITY)]}))
OWN = dataset("/out", schema=SCHEMA, columnLineage=lineage({"a": [source("/out", "a", IDENTITY)]}))
CONSTANT = dataset("/out", schema=SCHEMA, columnLineage=lineage({}, rows=[]) | {"fields": {"b": {"inputFields": []}}})
FILTERED = dataset("/out", columnLineage=lineage({}, rows=[source("/in", "a", step("INDIRECT", "FILTER"))]))
PLAIN = dataset("/out", schema=SCHEMA)


def _sql(text: str) -> dict[str, Any]:
    return {"sql": {"query": text}}


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "columns": ({"outputs": [COPIED]}, ""),
    "no facet": ({"outputs": [PLAIN]}, "the listener sent no column lineage for this write"),
    "no schema": ({"outputs": ["/out"]}, "neither column lineage nor a schema"),
    "rows alone": ({"outputs": [FILTERED]}, "only columns that select the rows"),
    "constants": ({"outputs": [CONSTANT]}, "no source is known for any column"),
    "the target": ({"outputs": [OWN]}, "only the table itself"),
    "DELETE": ({"outputs": [PLAIN], "job": "execute_delete_command"}, "a DELETE writes no column values"),
    "bad SQL": ({"outputs": [PLAIN], "job_facets": _sql("insert into {{ target }}")}, "the job's SQL can't be parsed"),
    "unknown tables": (
        {"outputs": [PLAIN], "job_facets": _sql("insert into delta.`/out` select * from x.other")},
        "no event locates the tables",
    ),
    "only SQL": (
        {"outputs": [PLAIN], "job_facets": _sql("insert into delta.`/out` select * from delta.`/other`")},
        "which leaves open which columns",
    ),
}


@pytest.mark.parametrize(("run", "reason"), CASES.values(), ids=CASES)
def test_a_process_without_columns_has_the_reason(run: dict[str, Any], reason: str) -> None:
    merged_run = merged(**{"inputs": ["/in"], "job": "adaptive_spark_plan.out", **run})
    translation = translate(merged_run)
    assert not isinstance(translation, Skip | Wait)
    (content,) = translation.processes
    contribution = Contribution(application_run="application", content=content, seen=SEEN)
    process = aggregate([contribution], {}, now=None).process
    assert process is not None
    explanation = why_no_columns(process, [content], [merged_run.statement])
    assert reason in explanation if reason else explanation == ""
