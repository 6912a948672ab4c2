"""Streams: they count while they run, and keep what they did when they are cancelled or fail."""

from itertools import permutations
from typing import Any

import pytest

from shared.model import RunLineage
from shared.openlineage.decoding import Event
from shared.openlineage.merging import fold, merge
from shared.translation.run.translate import Skip, Wait, translate
from tests.support.building import IDENTITY, dataset, decoded, lineage, source

SNAPSHOT = {"eventTrigger": "PERIODIC", "eventContentMode": "COMPLETE_SNAPSHOT"}
ACCUMULATIVE = {"eventTrigger": "EVENT_BASED", "eventContentMode": "ACCUMULATIVE"}


def kind(integration: str = "FLINK", processing: str = "STREAMING", **fields: Any) -> dict[str, Any]:
    return {"jobType": {"integration": integration, "jobType": "JOB", "processingType": processing, **fields}}


def event(event_type: str, minute: float = 0, source_name: str = "/topic", **facets: Any) -> Event:
    """An event of a job that copies `x`."""
    sink = dataset("/sink", columnLineage=lineage({"x": [source(source_name, "x", IDENTITY)]}))
    return decoded(
        event_type,
        minute=minute,
        application=None,
        app_name="orders-to-lake",
        job_facets=kind(**facets),
        inputs=[source_name],
        outputs=[sink],
    )


CASES: dict[str, tuple[tuple[str, ...], dict[str, Any], type]] = {
    "that has not run yet": (("START",), {}, Wait),
    "that runs": (("START", "RUNNING"), {}, RunLineage),
    "whose start was lost": (("RUNNING",), {}, RunLineage),
    "that was cancelled": (("START", "RUNNING", "ABORT"), {}, RunLineage),
    "that was cancelled before its first checkpoint": (("START", "ABORT"), {}, RunLineage),
    "that failed after it ran": (("START", "RUNNING", "FAIL"), {}, RunLineage),
    "that failed at its start": (("START", "FAIL"), {}, Skip),
    "that ended": (("START", "RUNNING", "COMPLETE"), {}, RunLineage),
    "of Kafka Connect": (("START", "RUNNING"), {"integration": "KAFKA_CONNECT"}, RunLineage),
    "in lower case": (("RUNNING",), {"processing": "streaming"}, RunLineage),
    "of Spark, whose batches end": (("START", "RUNNING"), {"integration": "SPARK"}, Wait),
    "of Spark, whose batch failed": (("START", "RUNNING", "FAIL"), {"integration": "SPARK"}, Skip),
    "that is a batch": (("START", "RUNNING"), {"processing": "BATCH"}, Wait),
    "that is a batch and was cancelled": (("START", "RUNNING", "ABORT"), {"processing": "BATCH"}, Skip),
}


@pytest.mark.parametrize(("types", "facets", "outcome"), CASES.values(), ids=CASES)
def test_a_stream(types: tuple[str, ...], facets: dict[str, Any], outcome: type) -> None:
    events = [event(event_type, minute, **facets) for minute, event_type in enumerate(types)]
    for order in permutations(events):
        assert isinstance(translate(merge(order)), outcome)
        assert merge(fold(order)) == merge(events)


def inputs_of(*events: Event) -> list[str]:
    translated = translate(merge(events))
    assert isinstance(translated, RunLineage)
    (process,) = translated.processes
    return [asset.name for asset in process.inputs]


def test_a_snapshot_replaces_the_data_sets_before_it_in_any_order() -> None:
    first, second = (
        event("RUNNING", minute, name, emissionPattern=SNAPSHOT) for minute, name in ((1, "/old"), (2, "/new"))
    )
    end = decoded("ABORT", minute=3, application=None, app_name="orders-to-lake", job_facets=kind())
    for order in permutations((first, second, end)):
        assert inputs_of(*order) == ["/new"]
        assert merge(fold(order)) == merge(order)


def test_accumulating_events_add_data_sets() -> None:
    events = [event("RUNNING", minute, name, emissionPattern=ACCUMULATIVE) for minute, name in ((1, "/a"), (2, "/b"))]
    assert inputs_of(*events) == ["/a", "/b"]


def test_the_newest_kind_of_a_job_counts() -> None:
    """A job that begins as a batch, and turns out to be a stream."""
    events = (event("START", 0, processing="BATCH"), event("RUNNING", 1))
    for order in permutations(events):
        assert merge(order).processing_type == "STREAMING"


KAFKA = "kafka://broker:9092"
CONNECTORS: dict[str, tuple[str, str, list[tuple[str, str]], list[tuple[str, str]]]] = {
    "Debezium's source": (
        "DEBEZIUM",
        "shop.0",
        [("postgres://db:5432", "shop.public.orders"), ("postgres://db:5432", "shop.public.customers")],
        [(KAFKA, "cdc.public.orders"), (KAFKA, "cdc.public.customers")],
    ),
    "Debezium's JDBC sink": (
        "DEBEZIUM",
        "warehouse.1",
        [(KAFKA, "cdc.public.orders"), (KAFKA, "cdc.public.customers")],
        [("mysql://dw:3306", "dw.cdc_public_orders"), ("mysql://dw:3306", "dw.cdc_public_customers")],
    ),
    "a sink of Kafka Connect": (
        "KAFKA_CONNECT",
        "to-lake",
        [(KAFKA, "orders"), (KAFKA, "customers")],
        [("s3://lake", "orders"), ("s3://lake", "customers")],
    ),
}
"""Each input is copied to the output in the same place; an event names one data set."""


@pytest.mark.parametrize(("integration", "job", "inputs", "outputs"), CONNECTORS.values(), ids=CONNECTORS)
def test_a_connector_copies_each_table_to_its_own_topic(
    integration: str, job: str, inputs: list[tuple[str, str]], outputs: list[tuple[str, str]]
) -> None:
    def running(minute: int, **datasets: Any) -> Event:
        facets = kind(integration)
        return decoded("RUNNING", minute=minute, application=None, app_name=job, job_facets=facets, **datasets)

    events = [running(0)]
    events += [running(1, inputs=[dataset(name, namespace)]) for namespace, name in inputs]
    events += [running(2, outputs=[dataset(name, namespace)]) for namespace, name in outputs]
    for order in (events, events[::-1]):
        translated = translate(merge(order))
        assert isinstance(translated, RunLineage)
        pairs = {(process.inputs[0].name, process.outputs[0].name) for process in translated.processes}
        assert pairs == {(table, topic) for (_, table), (_, topic) in zip(inputs, outputs, strict=True)}
        assert all(len(process.inputs) == 1 for process in translated.processes)
        assert merge(fold(order)) == merge(events)


def test_a_job_of_an_older_flink_is_a_stream_by_its_checkpoints() -> None:
    """It does not say of what kind the job is, only which engine runs it."""
    engine = {"processing_engine": {"name": "flink", "version": "1.15.4"}}
    fields: dict[str, Any] = {"application": None, "job_facets": {}, "run_facets": engine}
    start = decoded("START", app_name="orders", inputs=["/topic"], outputs=["/sink"], **fields)
    checkpoint = decoded("RUNNING", minute=1, app_name="orders", **fields)
    assert isinstance(translate(merge([start])), Wait)
    for order in permutations((start, checkpoint)):
        assert isinstance(translate(merge(order)), RunLineage)
        assert merge(fold(order)) == merge(order)
