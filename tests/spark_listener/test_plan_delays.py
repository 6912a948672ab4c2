"""Both listeners over a network that is slow, cold or fails at times: the slice of `make plan-delays` for each change.

Three jobs run on real Spark 3.5, once for each way in which a receiver answers.
"""

import json
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import pytest

from shared.model import EdgeKind
from shared.openlineage.decoding import Event, decode
from shared.translation.reference import translate_history
from tests.capture.needs import merge_configurations
from tests.spark_listener.receiver import ANSWERS, Received, receiver
from throughline.local.spark.job import QUICK_SESSION, SparkJob, listener_configuration
from throughline.plan_jar import plan_configuration

JOB = Path(__file__).parent / "delayed_job.py"
VALUES = {
    "one": {"id": {"in.id"}, "v": {"in.v"}},
    "four": {"id": {"in.id"}},
    "kept": {"t": {"in.v"}},
    "most": {"id": {"in.id"}, "most": {"in.v"}},
    "raw": {"w": {"in.v"}},
}
"""Each output of the jobs that did not fail: its columns, and where their values come from. `sums` was dropped."""


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Received]:
    """One JVM with an application for each receiver."""
    folder = tmp_path_factory.mktemp("delays")
    with ExitStack() as stack:
        receivers = {name: stack.enter_context(receiver(answers)) for name, answers in ANSWERS.items()}
        urls = {name: url for name, (url, _) in receivers.items()}
        configuration = merge_configurations(QUICK_SESSION, listener_configuration(""), plan_configuration())
        arguments = [json.dumps(urls), str(folder / "data")]
        with SparkJob(JOB, configuration=configuration, directory=folder / "spark", arguments=arguments) as job:
            result = job.wait()
        assert result.problem is None, result.problem
        return {name: requests for name, (_, requests) in receivers.items()}


def _events(received: Received) -> list[Event]:
    return [decode(body) for body in received.bodies]


@pytest.mark.parametrize("answers", ANSWERS)
def test_the_lineage_is_that_of_a_receiver_without_delay(received: dict[str, Received], answers: str) -> None:
    values: dict[str, dict[str, set[str]]] = {}
    for process in translate_history(_events(received[answers])).processes:
        columns: dict[str, set[str]] = defaultdict(set)
        for edge in process.columns:
            if edge.kind == EdgeKind.DIRECT:
                source = edge.input.qualified_name.rpartition("/")[2]
                columns[edge.output.column].add(f"{source}.{edge.input.column}")
        (output,) = process.outputs
        name = output.name.rpartition("/")[2]
        assert process.exact, name
        assert name not in values, f"two processes write {name}"
        values[name] = dict(columns)
    assert values == VALUES


@pytest.mark.parametrize("answers", ANSWERS)
def test_each_plan_has_the_run_of_the_listener(received: dict[str, Received], answers: str) -> None:
    facets = [event.body.run.facets for event in _events(received[answers]) if event.body]
    plans = [facet.plan for facet in facets if facet and facet.plan]
    assert len(plans) >= len(VALUES)
    assert {plan.joined for plan in plans} == {True}
    assert {plan.lost for plan in plans} == {0}


def test_a_receiver_refused_some_requests(received: dict[str, Received]) -> None:
    assert received["503"].refused > 0
