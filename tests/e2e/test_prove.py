"""`throughline prove` as a command: a real world behind a program in place of `az`, from the plan to the report."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from shared.atlas.entities import AssetEntity
from shared.bootstrap import Worker
from tests.cli.doctor.played_azure import GROUP, RECEIVER, SECRET, healthy
from tests.cli.doctor.test_doctor_command import stand_in
from tests.infra.azure_stand_in import AzureStandIn
from tests.support.local_world import parts_of
from tests.support.upgrades import HOST_ID, app_of, host
from tests.support.upgrades import RECEIVER as RECEIVER_ALONE
from throughline.cli.main import app
from throughline.local.world import World

pytestmark = pytest.mark.e2e

_SCANNED = ("mssql://srv.database.windows.net/shop/dbo/orders", "mssql://srv.database.windows.net/shop/dbo/items")


@pytest.fixture(scope="module")
def receiver(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a receiver of the world that needs a key."""
    folder = tmp_path_factory.mktemp("receiver")
    keys = folder / "keys.json"
    keys.write_text(json.dumps({"functionKeys": {"default": SECRET}, "functions": {}}))
    application = app_of(folder / "app", "c" * 64)
    with host(world, application, {**RECEIVER_ALONE, HOST_ID: "receiver"}, keys=keys) as running:
        yield running.url


@pytest.fixture
def az(receiver: str, tmp_path: Path) -> AzureStandIn:
    """A subscription whose receiver is that one; it has no slot."""
    azure = healthy(receiver)
    azure.outputs["receiveR_SLOT"] = ""
    program = stand_in(tmp_path / "bin", azure)
    program.answer("functionapp keys list", {"functionKeys": {"default": SECRET}, "masterKey": "m"})
    program.answer("deployment group what-if", {"changes": [{"changeType": "NoChange", "resourceId": "/x"}]})
    program.answer("functionapp stop")
    program.answer("functionapp start")
    raised = {"alertRule": "/x/throughline-lineage-receiver-stopped", "startDateTime": "2999-01-01T00:00:00Z"}
    alerts = "/subscriptions/00000000-0000-0000-0000-0000000000aa/providers/Microsoft.AlertsManagement/alerts"
    query = f"api-version=2019-03-01&timeRange=1h&targetResourceGroup={GROUP}"
    program.answer("rest", {"value": [{"properties": {"essentials": raised}}]}, url=f"{alerts}?{query}")
    return program


@pytest.fixture(scope="module")
def parts(world: World) -> Worker:
    """The world's parts, its catalog with two scanned tables."""
    worker = parts_of(world)
    attributes = (("name", "orders"), ("description", "Found by a scan."))
    worker.catalog.create_assets(
        [AssetEntity(type="azure_sql_table", qualified_name=name, attributes=attributes) for name in _SCANNED]
    )
    return replace(worker, account=None)


def prove(az: AzureStandIn, parts: Worker, *arguments: str, say: str = "") -> Result:
    return CliRunner().invoke(app, ["prove", *arguments], obj=parts, input=say, env=az.environment(COLUMNS="100"))


def test_a_whole_report_proves_what_can_be_tried_and_names_nobody(
    az: AzureStandIn, parts: Worker, receiver: str, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    result = prove(az, parts, "--group", GROUP, "--purview", "pv", "--yes", "--save", str(file))
    assert result.exit_code == 0, result.output
    report = json.loads(file.read_text())
    verdicts = {claim["id"]: claim["verdict"] for claim in report["claims"] if claim["reason"] != "people have to look"}
    assert {name for name, verdict in verdicts.items() if verdict == "proved"} == {
        *("template", "roles", "keys", "canary", "event-grid", "process-type", "column-mapping", "managed-attributes"),
        *("columns", "search", "scanned-names", "alerts", "clean-up"),
    }, report
    assert set(verdicts.values()) == {"proved", "not run"}
    for text in (result.output, file.read_text()):
        for name in (SECRET, RECEIVER, "stlineage", receiver, "ann@example.com", "srv.database"):
            assert name not in text
    assert GROUP not in file.read_text()
    assert [node.qualified_name for node in parts.catalog.ours() if "throughline" in node.qualified_name] == []


def test_it_asks_first_and_a_no_changes_nothing(az: AzureStandIn, parts: Worker, tmp_path: Path) -> None:
    result = prove(az, parts, "--group", GROUP, "--save", str(tmp_path / "none.json"), say="n\n")
    assert result.exit_code == 1
    assert "stops the receiver" in result.output
    assert "EVENTS SENT MEANWHILE ARE LOST" in " ".join(result.output.split()), "in lines of any width"
    assert "nothing was done" in result.output
    assert az.of("functionapp stop") == ()
    assert not (tmp_path / "none.json").exists()


def test_a_refuted_claim_ends_with_1(az: AzureStandIn, parts: Worker, tmp_path: Path) -> None:
    az.answer("deployment group what-if", {"changes": [{"changeType": "Delete", "resourceId": "/x/providers/A.B/c/d"}]})
    result = prove(az, parts, "--group", GROUP, "--only", "template", "--yes", "--save", str(tmp_path / "r.json"))
    assert result.exit_code == 1, result.output
    assert "refuted   template  Delete A.B/c" in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--only", "nothing"), "there is no claim nothing"),
        (("--only", "links"), "people have to look at links"),
        (("--purview", "other"), "the deployment writes to pv, not to other"),
    ],
)
def test_wrong_arguments_end_with_2(az: AzureStandIn, parts: Worker, arguments: tuple[str, ...], sentence: str) -> None:
    result = prove(az, parts, "--group", GROUP, *arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())
