"""What events state of a run besides lineage: of the specification's facets, of Hive's hook and of Flink's listener."""

from typing import Any

import pytest

from shared.openlineage.decoding import decode
from shared.openlineage.merging import merge
from shared.redaction import redacted
from shared.translation.aggregate import describe_run
from shared.translation.run.facts import MOST_FACTS, facts_of
from tests.support.building import Json, body, dataset, packed, process

FIELD = {"type": "field", "field": "customer"}
LITERAL = {"type": "literal", "value": "Ann Example"}
COMPARISON = {"type": "compare", "left": FIELD, "right": LITERAL, "comparison": "GREATER_EQUAL_THAN"}


def event(run_facets: Json | None = None, *, reads: Json | None = None, minute: int = 0) -> bytes:
    source = dataset("/in")
    if reads:
        source["inputFacets"] = {"subset": {"inputCondition": reads}}
    return packed(body("COMPLETE", minute=minute, inputs=[source], outputs=["/out"], run_facets=run_facets or {}))


def stated(*events: bytes) -> tuple[tuple[str, str], ...]:
    decoded = [decode(raw) for raw in events]
    return facts_of(merge(decoded), decoded).stated


def parameters(**values: Any) -> Json:
    parameter_entries = [{"key": key.replace("_", "."), "value": value} for key, value in values.items()]
    return {"executionParameters": {"parameters": parameter_entries}}


CASES = {
    "Hive's hook": (
        {
            "hive_query": {"queryId": "hive_20261121", "operationName": "QUERY"},
            "hive_session": {"username": "ann", "clientIp": "10.0.0.7", "sessionId": "s-1", "creationTime": "2026"},
            "hive_properties": {"properties": {"hive.execution.engine": "tez", "javax.jdo.option.Password": "p w"}},
        },
        [
            ("Hive query", "hive_20261121"),
            ("Hive session", "s-1"),
            ("Hive setting hive.execution.engine", "tez"),
            ("Hive setting javax.jdo.option.Password", "***"),
            ("Hive user", "ann"),
        ],
    ),
    "Flink's listener": (
        {
            "flink_job": {"jobId": "f7a9"},
            "checkpoints": {"completed": 1200, "failed": 1, "in-progress": 0, "restored": 2, "total": 1203},
        },
        [("Flink job", "f7a9"), ("checkpoints", "1,200 completed, 1 failed, 0 in progress, 2 restored")],
    ),
    "values that are no texts": (
        parameters(retries=3, ratio=0.5, full=True, none=None),
        [("parameter full", "true"), ("parameter ratio", "0.5"), ("parameter retries", "3")],
    ),
    "a job that only says when it runs": (
        {"jobDependencies": {"trigger_rule": "NONE_FAILED"}},
        [("runs when", "none failed")],
    ),
    "facets without values": ({"executionParameters": {}, "hive_session": {}, "checkpoints": {}, "flink_job": {}}, []),
}


@pytest.mark.parametrize(("facets", "facts"), CASES.values(), ids=CASES)
def test_facets_of_a_run_become_facts(facets: Json, facts: list[tuple[str, str]]) -> None:
    assert list(stated(event(facets))) == facts


CONDITIONS = {
    "a comparison, without its literal": (COMPARISON, "customer >= ?"),
    "an unknown comparison": (COMPARISON | {"comparison": "LIKE"}, "customer LIKE ?"),
    "both": (
        {"type": "binary", "left": COMPARISON, "right": COMPARISON, "operator": "or"},
        "(customer >= ? OR customer >= ?)",
    ),
    "many partitions": (
        {"type": "partition", "partitions": [{"dimensions": {"day": day}} for day in range(5)]},
        "day=0 or day=1 or day=2 or 2 more",
    ),
    "a partition with an identifier alone": (
        {"type": "partition", "partitions": [{"identifier": "2026-11", "dimensions": {}}]},
        "2026-11",
    ),
    "a signed location": (
        {"type": "location", "locations": ["abfss://c:secret@lake.dfs.core.windows.net/in?sig=abc"]},
        "at abfss://c@lake.dfs.core.windows.net/in",
    ),
}


@pytest.mark.parametrize(("condition", "text"), CONDITIONS.values(), ids=CONDITIONS)
def test_the_part_that_was_read_is_stated(condition: Json, text: str) -> None:
    assert stated(event(reads=condition)) == (("reads of /in", text),)


def test_conditions_that_are_nested_deeply_are_cut() -> None:
    condition: Json = COMPARISON
    for _ in range(200):
        condition = {"type": "binary", "left": condition, "right": COMPARISON, "operator": "AND"}
    ((_, text),) = stated(event(reads=condition))
    assert "…" in text


@pytest.mark.parametrize(
    "wrong",
    [{"type": "regex", "pattern": "a"}, {"type": "compare", "left": FIELD}, {"locations": ["/a"]}, "day=1"],
    ids=repr,
)
def test_a_condition_of_another_form_leaves_out_its_facet_alone(wrong: Any) -> None:
    decoded = decode(event(parameters(day="1"), reads=wrong))
    assert decoded.omitted == ("inputs[0].inputFacets.subset",)
    assert stated(event(parameters(day="1"), reads=wrong)) == (("parameter day", "1"),)


def test_the_latest_value_counts_in_any_order_of_arrival() -> None:
    early, late = event(parameters(day="1", shop="a")), event(parameters(day="2"), minute=1)
    assert stated(early, late) == stated(late, early) == (("parameter day", "2"), ("parameter shop", "a"))


def test_of_many_facts_the_rest_is_counted() -> None:
    facts = stated(event(parameters(**{f"p{number:03}": number for number in range(MOST_FACTS + 8)})))
    assert (len(facts), facts[-1]) == (MOST_FACTS + 1, ("further facts", "8"))


def test_the_description_of_the_last_run_has_them() -> None:
    decoded = decode(event(parameters(day="1")))
    assert "Parameter day: 1." in describe_run(facts_of(merge([decoded]), [decoded]), process("/in"))


def test_redaction_keeps_the_facts_and_no_literal_or_secret() -> None:
    condition = {"type": "binary", "left": COMPARISON, "right": COMPARISON, "operator": "AND"}
    raw = event(
        parameters(day="1", full=True, **{"client-key": "hunter2 with blanks"})
        | {"hive_properties": {"properties": {"my.token": "hunter2"}}},
        reads=condition,
    )
    stored = redacted(decode(raw))
    assert stated(stored) == stated(raw)
    assert b"Ann" not in stored
    assert b"hunter2" not in stored
