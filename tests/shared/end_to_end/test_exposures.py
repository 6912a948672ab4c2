"""Exposures of dbt through storage, fold and catalog: in any order, with duplicates and deaths, what is published is
what the reference says of all events.
"""

import json
import random

import pytest

from shared.openlineage.decoding import decode
from shared.reading.processes import recorded_processes
from shared.translation.reference import translate_history
from tests.plugins.sample import Sample
from tests.shared.end_to_end.test_random_histories import SIMULATIONS, disagreements_of_simulation, one_by_one
from tests.support.building import packed
from tests.support.cli import Parts
from tests.support.dbt_histories import history, invocation
from tests.support.forwarding import ForwardWorld
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from tests.support.runtime import Runtime

OF_PROJECT = {"orders": ["board"], "totals": ["board", "sheet"]}


@pytest.mark.parametrize("life", SIMULATIONS)
def test_random_histories_give_the_result_of_the_reference(life: str, sample: Sample) -> None:
    for seed in sample(range(40)):
        bodies = history(seed)
        shuffled = random.Random(seed).sample(bodies, len(bodies))
        assert translate_history(map(decode, [*shuffled, *bodies])) == translate_history(map(decode, bodies)), seed
        assert not disagreements_of_simulation(bodies, seed, **SIMULATIONS[life]), seed
        assert not one_by_one(shuffled), seed


def test_an_exposure_that_a_table_lost_leaves_the_catalog_and_other_tables_keep_theirs() -> None:
    runtime = Runtime()
    published = []
    for events in (
        invocation(1, OF_PROJECT, ["orders"]),
        invocation(2, OF_PROJECT, ["totals"]),
        invocation(3, {**OF_PROJECT, "totals": ["sheet"]}, ["totals"]),
        invocation(4, {}, ["totals"]),
        invocation(5, {}, ["orders"]),
    ):
        for body in events:
            runtime.run(body)
        runtime.publish()
        published.append(
            {
                (source[1].rpartition(".")[2], sink[1].rpartition("/")[2])
                for process in runtime.catalog.processes.values()
                for source in process.inputs
                for sink in process.outputs
                if sink[1].startswith("dbt")
            }
        )
    assert published == [
        {("orders", "board")},
        {("orders", "board"), ("totals", "board"), ("totals", "sheet")},
        {("orders", "board"), ("totals", "sheet")},
        {("orders", "board")},
        set(),
    ]


def test_an_impact_ends_at_the_dashboard() -> None:
    parts = Parts()
    for body in invocation(1, OF_PROJECT, ["orders", "totals"]):
        for place in post(parts.storage, body):
            deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    shown = parts.run("impact", "shop.main.raw").output
    assert "shop.main.orders → board by shop.main.orders → exposures" in shown
    assert "shop.main.totals → sheet by shop.main.totals → exposures" in shown


def test_a_run_is_forwarded_with_what_it_wrote_and_not_with_the_readers_that_it_states() -> None:
    world = ForwardWorld()
    world.receive(*map(json.loads, invocation(1, OF_PROJECT, ["totals"])))
    world.round(minutes=10)
    (event,) = world.targets["marquez"].events
    assert event["job"] == {"namespace": "default", "name": "shop.main.shop.totals"}
    assert [dataset["name"] for dataset in event["inputs"]] == ["shop.main.orders", "shop.main.raw"]
    assert [dataset["name"] for dataset in event["outputs"]] == ["shop.main.totals"]


def test_a_dashboard_is_not_what_the_rows_of_a_run_went_to() -> None:
    parts = Parts()
    for body in invocation(1, OF_PROJECT, ["totals"]):
        event = json.loads(body)
        for output in event["outputs"]:
            output["outputFacets"] = {"outputStatistics": {"rowCount": 7}}
        for place in post(parts.storage, packed(event)):
            deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    written = {
        record.process.name: [amount.rows for amount in record.facts.written]
        for record in recorded_processes(parts.storage, parts.worker.publishing)
        if record.facts
    }
    assert written == {"shop.main.shop.totals → shop.main.totals": [7], "shop.main.totals → exposures": []}
