"""The listener's configuration, why a job failed, and what is taken out of captured events."""

import json
from pathlib import Path

import pytest

from local.capture.runner import scenarios
from local.capture.scrub import LeakError, Machine, scrub
from local.spark import explain_failure, file_configuration, listener_configuration

LOG = Path("build/spark.log")


def test_a_session_reports_to_the_receiver() -> None:
    assert listener_configuration("http://127.0.0.1:7071/") == {
        "spark.jars.packages": "io.openlineage:openlineage-spark_2.12:1.53.0,io.delta:delta-spark_2.12:3.3.3",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": "default",
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": "http://127.0.0.1:7071",
        "spark.openlineage.transport.endpoint": "/api/v1/lineage",
        "spark.openlineage.transport.timeoutInMillis": "10000",
    }


def test_the_key_travels_as_a_header_and_not_in_the_url() -> None:
    properties = listener_configuration("http://127.0.0.1:7071", key="secret", namespace="shop", packages=())
    assert properties["spark.openlineage.transport.headers.x-functions-key"] == "secret"
    assert "secret" not in properties["spark.openlineage.transport.url"]
    assert properties["spark.openlineage.namespace"] == "shop"
    assert properties["spark.jars.packages"] == "io.openlineage:openlineage-spark_2.12:1.53.0"


def test_events_go_to_a_file_for_capturing() -> None:
    properties = file_configuration(Path("/tmp/events.jsonl"), listener="1.25.0", packages=())  # noqa: S108 - not opened
    assert properties["spark.openlineage.transport.location"] == "/tmp/events.jsonl"  # noqa: S108 - not opened
    assert properties["spark.jars.packages"].endswith(":1.25.0")


UNRESOLVED = ":: org.example#missing;1.0: not found\nunresolved dependency: org.example#missing;1.0: not found]\n"


@pytest.mark.parametrize(
    ("log", "output", "expected"),
    [
        (
            "Host repo.example not found. url=…\n" + UNRESOLVED,
            "",
            (
                "Spark could not download org.example:missing:1.0 from Maven Central: check the network "
                "(what was downloaded once is kept in ~/.ivy2). Log: build/spark.log"
            ),
        ),
        (
            UNRESOLVED,
            "",
            "Maven Central has no org.example:missing:1.0: check the version. Log: build/spark.log",
        ),
        (
            "12:00:00 ERROR x\njava.net.ConnectException: refused\n",
            "Traceback (most recent call last):\n  …\npyspark.errors.AnalysisException: no table t\n",
            "The job shop failed: AnalysisException: no table t. Log: build/spark.log",
        ),
        (
            "",
            "py4j.Py4JJavaError: An error.\n: x.SparkException: lost\nCaused by: java.io.IOException: full\n",
            "The job shop failed: IOException: full. Log: build/spark.log",
        ),
        ("all is well\n", "", "The job shop failed: its log does not say why. Log: build/spark.log"),
    ],
)
def test_a_failure_is_explained_in_one_sentence(log: str, output: str, expected: str) -> None:
    assert explain_failure("shop", log, output, LOG) == expected


MACHINE = Machine(paths={"/home/eve/t.l/data": "/data/throughline", "/home/eve/t.l": "/opt"}, words=("eve", "box"))


def test_paths_become_stable_wherever_they_stand() -> None:
    """The listener folds dots in job names, so a folder's name comes in two spellings."""
    text = (
        '{"name":"app.create_table.delta_/home/eve/t_l/data/x","at":"/home/eve/t.l/a.py","run":"/home/eve/t.l/data/x"}'
    )
    assert json.loads(scrub(text, MACHINE)) == {
        "name": "app.create_table.delta_/data/throughline/x",
        "at": "/opt/a.py",
        "run": "/data/throughline/x",
    }


def test_host_and_user_become_stable_and_the_text_stays_as_it_was() -> None:
    """Keys that stand twice in one object are real: parsing the events would lose one."""
    text = '{"driverHost":"192.0.2.9","userName":"eve","a":1,"a":2, "runId":"01"}\n'
    assert scrub(text, MACHINE) == '{"driverHost":"driver.example","userName":"spark","a":1,"a":2, "runId":"01"}\n'


def test_what_is_left_of_the_machine_is_an_error() -> None:
    with pytest.raises(LeakError, match="'box' is still in the events"):
        scrub('{"host":"box"}', MACHINE)
    assert scrub('{"host":"boxes"}', MACHINE) == '{"host":"boxes"}'


@pytest.mark.parametrize("name", scenarios())
def test_every_scenario_has_a_truth_that_names_its_own_inputs(name: str) -> None:
    """An edge comes from an input of its process and goes to its output; what is never told is no edge of it."""
    truth = json.loads(scenarios()[name].truth.read_text())
    assert set(truth) == {"processes", "not_told", "told_wrongly"}
    for process in truth["processes"]:
        assert process["output"] not in process["inputs"]
        for edge in process["columns"]:
            assert edge["input"][0] in process["inputs"]
            assert edge["output"][0] == process["output"]
            assert edge["kind"] in {"DIRECT", "INDIRECT"}
            assert edge not in [entry.get("edge") for entry in truth["not_told"]]
    assert all(entry["reason"] for entry in (*truth["not_told"], *truth["told_wrongly"]))


def test_kept_events_stand_beside_the_truth_they_were_captured_with() -> None:
    golden = Path(__file__).resolve().parents[1] / "golden"
    kept = sorted(golden.glob("*/*/events.jsonl"))
    assert kept
    for events in kept:
        truth = scenarios()[events.parent.name].truth
        assert (events.parent / "truth.json").read_text() == truth.read_text(), f"capture {events.parent.name} again"
