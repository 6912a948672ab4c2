"""The listener's configuration, the explanation of failed jobs, and the scrubbing of captured events."""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.capture.coverage import PAGE, page
from tests.capture.needs import Needs, NeedsError, merge_configurations
from tests.capture.scenario import GOLDEN, LISTENERS, MATRIX, WITH_PLANS, Versions, captures, scenarios
from tests.capture.scrub import LeakError, Machine, scrub
from tests.capture.truth import ListenerVersion, Truth, not_run
from tests.support.spark_events import file_configuration
from throughline.local.spark.failure import explain_failure
from throughline.local.spark.job import listener_configuration
from throughline.local.toolchain.versions import SPARK_3, SPARK_4, Platform

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


def test_the_key_is_sent_in_a_header_and_not_in_the_url() -> None:
    properties = listener_configuration("http://127.0.0.1:7071", key="secret", namespace="shop")
    assert properties["spark.openlineage.transport.headers.x-functions-key"] == "secret"
    assert "secret" not in properties["spark.openlineage.transport.url"]
    assert properties["spark.openlineage.namespace"] == "shop"


def test_the_packages_match_the_scala_version_of_spark() -> None:
    properties = listener_configuration("http://127.0.0.1:7071", platform=SPARK_4, packages=["org.example:more:1"])
    assert properties["spark.jars.packages"] == (
        "io.openlineage:openlineage-spark_2.13:1.53.0,io.delta:delta-spark_4.1_2.13:4.4.0,org.example:more:1"
    )
    assert [Versions().name, Versions(platform=SPARK_4, listener="1.37.0").name] == ["spark35-ol1.53", "spark41-ol1.37"]


@pytest.mark.parametrize("platform", [SPARK_3, SPARK_4])
def test_the_python_environment_of_a_spark_version_pins_its_pyspark(platform: Platform) -> None:
    requirements = Path(__file__).parents[2] / "requirements"
    for name in (f"spark{platform.major}.in", f"spark{platform.major}.txt"):
        assert re.search(rf"^pyspark=={re.escape(platform.spark)}\b", (requirements / name).read_text(), re.MULTILINE)


def test_events_are_written_to_a_file_for_capturing() -> None:
    properties = file_configuration(Path("/tmp/events.jsonl"), listener="1.25.0")  # noqa: S108 - not opened
    assert properties["spark.openlineage.transport.location"] == "/tmp/events.jsonl"  # noqa: S108 - not opened
    assert properties["spark.jars.packages"].split(",")[0] == "io.openlineage:openlineage-spark_2.12:1.25.0"


UNRESOLVED = ":: org.example#missing;1.0: not found\nunresolved dependency: org.example#missing;1.0: not found]\n"


@pytest.mark.parametrize(
    ("log", "output", "expected"),
    [
        (
            "Host repo.example not found. url=…\n" + UNRESOLVED,
            "",
            (
                "Spark could not download org.example:missing:1.0 from Maven Central: check the network "
                "(downloads are kept in ~/.ivy2). Log: build/spark.log"
            ),
        ),
        (
            "Server access error at url … (javax.net.ssl.SSLHandshakeException: PKIX path building failed: …)\n"
            + UNRESOLVED,
            "",
            (
                "Spark could not download org.example:missing:1.0 from Maven Central: check the network "
                "(downloads are kept in ~/.ivy2). A server's certificate is not trusted, as behind a proxy that opens "
                "TLS: set SSL_CERT_FILE to the file of its certificates (PEM). Log: build/spark.log"
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
def test_the_output_of_a_failed_job_is_summed_up_in_one_sentence(log: str, output: str, expected: str) -> None:
    assert explain_failure("shop", log, output, LOG) == expected


MACHINE = Machine(paths={"/home/eve/t.l/data": "/data/throughline", "/home/eve/t.l": "/opt"}, forbidden=("eve", "box"))


def test_paths_are_replaced_everywhere_in_the_events() -> None:
    """The listener replaces dots in job names, so a folder's name has two spellings."""
    text = (
        '{"name":"app.create_table.delta_/home/eve/t_l/data/x","at":"/home/eve/t.l/a.py","run":"/home/eve/t.l/data/x"}'
    )
    assert json.loads(scrub(text, MACHINE)) == {
        "name": "app.create_table.delta_/data/throughline/x",
        "at": "/opt/a.py",
        "run": "/data/throughline/x",
    }


def test_host_and_user_are_replaced_and_the_rest_of_the_text_is_unchanged() -> None:
    """Real objects have a key twice, one of which parsing would lose."""
    text = '{"driverHost":"192.0.2.9","userName":"eve","a":1,"a":2, "runId":"01"}\n'
    assert scrub(text, MACHINE) == '{"driverHost":"driver.example","userName":"spark","a":1,"a":2, "runId":"01"}\n'


def test_a_remaining_fact_of_the_machine_is_an_error() -> None:
    with pytest.raises(LeakError, match="'box' is still in the events"):
        scrub('{"host":"box"}', MACHINE)
    assert scrub('{"host":"boxes"}', MACHINE) == '{"host":"boxes"}'


def test_the_address_of_a_system_is_replaced_by_a_stable_name() -> None:
    machine = Machine(paths={"127.0.0.1:54321": "db.example:5432"}, forbidden=("54321",))
    text = '{"namespace":"postgres://127.0.0.1:54321","name":"app.execute_127_0_0_1:54321"}'
    assert scrub(text, machine) == '{"namespace":"postgres://db.example:5432","name":"app.execute_db.example:5432"}'


def _needs(folder: Path, text: str) -> Needs:
    (folder / "stream.job.json").write_text(text)
    return Needs.beside(folder / "stream.py")


def test_a_scenario_without_a_job_file_has_no_needs(tmp_path: Path) -> None:
    assert Needs.beside(tmp_path / "plain.py") == Needs()


def test_version_dependent_values_are_filled_in(tmp_path: Path) -> None:
    text = """{"packages": ["org.example:kafka_{scala}:{spark}"], "system": "kafka", "environment": {"AT": "{data}"},
      "conf": {"spark.jar": "x-{pyspark}-{delta}-{iceberg}", "spark.json": "{\\"a\\": 1}"}}"""
    needs = _needs(tmp_path, text).filled_in({**Versions(platform=SPARK_4).placeholders, "data": "/there"})
    assert needs == Needs(
        packages=("org.example:kafka_2.13:4.1",),
        conf={"spark.jar": "x-4.1.4-4.4.0-1.11.0", "spark.json": '{"a": 1}'},
        environment={"AT": "/there"},
        system="kafka",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"package": []}', "has package: it may have packages, conf, environment, system, kind"),
        ('{"kind": "java"}', "has the kind java: it may be spark or python"),
        ('{"kind": "python"}', "names no system"),
    ],
)
def test_invalid_needs_are_refused(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(NeedsError, match=f"stream.job.json.* {expected}"):
        _needs(tmp_path, text)


def test_properties_of_several_sources_are_merged() -> None:
    """Some properties are joined; of all others the last value holds, even an empty one."""
    assert merge_configurations(
        {"spark.jars.packages": "a", "spark.driver.extraClassPath": "/c", "spark.x": "1"},
        {"spark.jars.packages": "b", "spark.driver.extraClassPath": "/d", "spark.x": ""},
    ) == {"spark.jars.packages": "a,b", "spark.driver.extraClassPath": "/c:/d", "spark.x": ""}


@pytest.mark.parametrize("name", scenarios())
def test_every_scenario_has_a_truth_that_names_its_own_inputs(name: str) -> None:
    """An edge comes from an input of its process and goes to its output; a never reported fact is no edge of it."""
    truth = json.loads(scenarios()[name].truth.read_text())
    required_keys = {"processes", "not_reported", "reported_wrongly"}
    assert required_keys <= set(truth) <= required_keys | {"not_run", "declared"}
    permanent_gaps = [entry for entry in truth["not_reported"] if "only" not in entry]
    for process in truth["processes"]:
        assert process["output"] not in process["inputs"]
        for edge in process["columns"]:
            assert edge["input"][0] in process["inputs"]
            assert edge["output"][0] == process["output"]
            assert edge["kind"] in {"DIRECT", "OPAQUE", "INDIRECT"}
            assert edge not in [entry.get("edge") for entry in permanent_gaps]
    gaps = [*truth["not_reported"], *truth["reported_wrongly"], *truth.get("not_run", ())]
    assert all(entry["reason"] for entry in gaps)
    assert all(entry["only"] for entry in truth.get("not_run", ()))


@pytest.mark.parametrize("name", scenarios())
def test_every_gap_names_an_existing_capture(name: str) -> None:
    """A pattern without a matching capture is a mistake; and each version's truth can be read."""
    scenario = scenarios()[name]
    truth = json.loads(scenario.truth.read_text())
    known_names = (
        {matrix_entry.name for matrix_entry in (*MATRIX, *WITH_PLANS)}
        if scenario.needs.kind == "spark"
        else set(captures(scenario))
    )
    for entry in (*truth["not_reported"], *truth["reported_wrongly"], *truth.get("not_run", ())):
        for pattern in entry.get("only", ()):
            assert any(fnmatchcase(capture, pattern) for capture in known_names), pattern
    for capture in captures(scenario):
        assert Truth.read(scenario.truth, capture=capture).processes is not None
        assert ListenerVersion.read(LISTENERS, capture=capture)


def test_no_events_are_kept_of_a_scenario_that_its_truth_calls_not_run() -> None:
    kept_paths = sorted(GOLDEN.glob("*/*/events.jsonl"))
    assert kept_paths
    for events in kept_paths:
        truth = scenarios()[events.parent.name].truth
        assert not_run(truth, events.parent.parent.name) is None, f"{events.parent} says that it is not run"


def test_golden_files_stay_below_the_size_limit() -> None:
    """Git stores about a twentieth of the size. The lines are what people review."""
    files = [path.read_bytes() for path in GOLDEN.rglob("*") if path.is_file()]
    assert sum(map(len, files)) < 85_000_000
    assert sum(content.count(b"\n") for content in files) < 70_000


def test_the_page_on_coverage_matches_the_events() -> None:
    assert PAGE.read_text() == page(), "run `make coverage` and look at the difference"
