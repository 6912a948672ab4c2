"""`throughline link mlflow` on a real MLflow with its store in files: data sets become inputs, model versions outputs.

Delivery and the tag are in tests/e2e/test_world.py.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shared.reading.processes import recorded_processes
from tests.support.cli import Parts
from tests.support.placeholder_columns import copy_run
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.client import Client
from throughline.models.mlflow_server import connect
from throughline.policy import PolicyError, require

if TYPE_CHECKING:
    from mlflow import MlflowClient

ORDERS = "abfss://raw@acct.dfs.core.windows.net/orders"
QUALIFIED = "https://acct.dfs.core.windows.net/raw/orders"
SECRET = "s3cr3t-of-the-lake"  # noqa: S105 - to be found nowhere
X = ("x", "string")
POLICY = """
[[policy]]
name = "models are of curated data"
datasets = "*models/churn:*"
sources_only = ["{source}"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """A store of MLflow."""

    uri: str
    client: "MlflowClient"
    experiment: str

    @classmethod
    def at(cls, uri: str) -> "Tracking":
        """An empty one at this address."""
        from mlflow import MlflowClient  # noqa: PLC0415 - MLflow takes seconds to import

        client = MlflowClient(tracking_uri=uri)
        client.create_registered_model("churn")
        return cls(uri=uri, client=client, experiment=client.create_experiment("churn training"))

    def run(
        self, *sources: tuple[str, str, dict[str, Any] | str], model: str = "churn", status: str = "FINISHED"
    ) -> str:
        """A run that logged data sets (name, type and source), and registered a version of a model."""
        from mlflow.entities import Dataset, DatasetInput  # noqa: PLC0415 - MLflow takes seconds to import

        run_id = self.client.create_run(self.experiment).info.run_id
        schema = json.dumps({"mlflow_colspec": [{"type": "string", "name": "x", "required": True}]})
        for number, (name, kind, source) in enumerate(sources):
            text = source if isinstance(source, str) else json.dumps(source)
            dataset = Dataset(name=name, digest=f"d{number}", source_type=kind, source=text, schema=schema)
            self.client.log_inputs(run_id, [DatasetInput(dataset, [])])
        if model:
            self.client.create_model_version(model, source=f"runs:/{run_id}/model", run_id=run_id)
        if status != "RUNNING":
            self.client.set_terminated(run_id, status)
        return str(run_id)


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracking]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        uri = (tmp_path_factory.mktemp("mlflow") / "mlruns").as_uri()
        patch.setenv("MLFLOW_TRACKING_URI", uri)  # a registry in files looks there, whatever its client says
        yield Tracking.at(uri)


def linked(tracking: Tracking, run: str, *arguments: str, code: int = 0) -> str:
    result = Parts().run("link", "mlflow", run, "--tracking-uri", tracking.uri, *arguments)
    assert result.exit_code == code, result.output
    return result.output


def events(tracking: Tracking, run: str, folder: Path, *arguments: str) -> list[bytes]:
    linked(tracking, run, "--save", str(folder / "events.jsonl"), *arguments)
    return (folder / "events.jsonl").read_bytes().splitlines()


def take(parts: Parts, *raw: bytes) -> None:
    for place in post(parts.storage, *raw):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


def test_data_becomes_an_input_and_the_model_version_an_output(tracking: Tracking, tmp_path: Path) -> None:
    parts = Parts()
    run = tracking.run(("orders", "delta_table", {"path": ORDERS, "delta_table_version": 3}))
    (version,) = tracking.client.search_model_versions(f"run_id='{run}'")
    take(parts, copy_run("1", (X,), (X,)))
    take(parts, *events(tracking, run, tmp_path))
    (training,) = [
        record.process
        for record in recorded_processes(parts.storage, parts.worker.publishing)
        if "churn" in record.process.name
    ]
    assert [asset.qualified_name for asset in training.inputs] == [QUALIFIED], "as Spark's events name it"
    assert [asset.qualified_name for asset in training.outputs] == [
        f"mlflow://localhost/models/churn:{version.version}"
    ]
    assert [(edge.input.column, edge.output.column) for edge in training.columns] == [("x", "model")]
    impact = parts.run("impact", "raw/orders.x")
    assert f"churn:{version.version}" in impact.output, "a change of the data reaches the model"
    writes = parts.catalog.writes
    take(parts, *events(tracking, run, tmp_path))
    assert parts.catalog.writes == writes, "the same run again changes nothing"


@pytest.mark.proof  # MLflow takes ten seconds to make its tables
def test_a_store_in_sqlite_gives_the_same_lineage_and_takes_the_tags(tracking: Tracking, tmp_path: Path) -> None:
    in_sqlite = Tracking.at(f"sqlite:///{tmp_path / 'mlflow.db'}")
    lineage: list[list[tuple[str, str]]] = []
    for store in (tracking, in_sqlite):
        parts = Parts()
        run = store.run(("orders", "delta_table", {"path": ORDERS, "delta_table_version": 3}))
        (tmp_path / run).mkdir()
        take(parts, *events(store, run, tmp_path / run))
        (record,) = recorded_processes(parts.storage, parts.worker.publishing)
        training = record.process
        lineage.append([(source.qualified_name, training.name.rpartition(":")[0]) for source in training.inputs])
    assert lineage[0] == lineage[1] == [(QUALIFIED, "churn training → churn")]
    server = connect(in_sqlite.uri)
    trained = server.run(run)
    server.tag(trained, "throughline.lineage", dict.fromkeys(trained.models, "throughline view churn:1"))
    (version,) = in_sqlite.client.search_model_versions(f"run_id='{run}'")
    for tags in (version.tags, in_sqlite.client.get_run(run).data.tags):
        assert tags["throughline.lineage"] == "throughline view churn:1"


def test_require_judges_the_training_data(tracking: Tracking, tmp_path: Path) -> None:
    parts, policy = Parts(), tmp_path / "policy.toml"
    take(parts, copy_run("1", (X,), (X,)))
    run = tracking.run(("orders", "spark", {"path": ORDERS}))
    take(parts, *events(tracking, run, tmp_path))
    policy.write_text(POLICY.format(source="*/db/dbo/orders"))
    require(policy, client=Client(parts.worker))
    policy.write_text(POLICY.format(source="curated/*"))
    with pytest.raises(PolicyError, match="models are of curated data"):
        require(policy, client=Client(parts.worker))


def test_a_place_that_is_not_known_is_an_input_that_policies_see(tracking: Tracking, tmp_path: Path) -> None:
    parts, policy = Parts(), tmp_path / "policy.toml"
    run = tracking.run(
        ("made up", "code", {"tags": {"mlflow.source.name": "train.py"}}), ("t", "spark", {"table_name": "db.t"})
    )
    output = linked(tracking, run, "--dry-run")
    assert "made up: a source of type 'code' names no place; it is shown as MLflow's own" in output
    assert "t: its table has no place: give --namespace, such as databricks://HOST" in output
    take(parts, *events(tracking, run, tmp_path))
    policy.write_text(POLICY.format(source="raw/*"))
    with pytest.raises(PolicyError, match="made up"):
        require(policy, client=Client(parts.worker))


def test_a_run_that_failed_gives_no_lineage(tracking: Tracking, tmp_path: Path) -> None:
    parts = Parts()
    run = tracking.run(("orders", "spark", {"path": ORDERS}), status="FAILED")
    take(parts, *events(tracking, run, tmp_path))
    assert parts.catalog.processes == {}


def test_a_model_that_is_not_registered_is_the_one_that_was_logged(tracking: Tracking) -> None:
    from mlflow.entities import LoggedModelOutput  # noqa: PLC0415 - MLflow takes seconds to import

    run = tracking.run(("orders", "spark", {"path": ORDERS}), model="")
    assert "has no model: log one, or register one from it" in linked(tracking, run, "--dry-run", code=2)
    model = tracking.client.create_logged_model(tracking.experiment, name="draft", source_run_id=run)
    tracking.client.log_outputs(run, [LoggedModelOutput(model_id=model.model_id, step=0)])
    assert f"mlflow://localhost models/draft:{model.model_id}" in linked(tracking, run, "--dry-run")


def test_all_mistakes_are_named_at_once(tracking: Tracking) -> None:
    run = tracking.run(("a", "delta_table", "{not json"), ("b", "spark", "[1]"), model="", status="RUNNING")
    output = linked(tracking, run, "--dry-run", code=2)
    assert f"run {run} is RUNNING: link it when it has ended" in output
    assert "has no model" in output
    assert f"run {run}: data set a (d0): its source is no JSON object" in output
    assert f"run {run}: data set b (d1): its source is no JSON object" in output
    assert "not json" not in output


def test_no_secret_of_a_source_or_a_server_is_shown_or_sent(tracking: Tracking, tmp_path: Path) -> None:
    run = tracking.run(
        ("signed", "http", {"url": f"https://acct.blob.core.windows.net/raw/f.csv?sv=1&sig={SECRET}"}),
        ("keyed", "s3", {"uri": f"s3://KEY:{SECRET}@lake/f.csv"}),
        ("typed", "spark", {"path": f"jdbc:sqlserver://h;password={SECRET}"}),
        ("broken", "spark", {"table_name": f"t;password={SECRET}"}),
    )
    sent_text = b"\n".join(events(tracking, run, tmp_path)).decode()
    assert SECRET not in sent_text
    assert "wasbs://raw@acct.blob.core.windows.net" in sent_text
    assert "s3://lake" in sent_text
    assert SECRET not in linked(tracking, run, "--dry-run", "--namespace", "spark://h:1")
    result = Parts().run("link", "mlflow", run, "--tracking-uri", f"ftp://ann:{SECRET}@h/x", "--dry-run")
    assert result.exit_code == 2
    assert SECRET not in result.output


def test_an_unknown_run_is_an_error_in_mlflows_words(tracking: Tracking) -> None:
    assert "error: Run '0' not found" in " ".join(linked(tracking, "0", "--dry-run", code=2).split())
