"""`throughline import purview`: what others left is compared with ours, and only what is covered goes.

On the local catalog, and on a real Atlas with `make atlas-contract`.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pytest
from pyapacheatlas.auth import BasicAuthentication
from typer.testing import Result

from shared.atlas.entities import ProcessEntity
from shared.bootstrap import Worker
from shared.catalog.atlas.annotations import AtlasDocumentation
from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import AssetKey, ForeignAsset, ForeignProcess
from shared.naming.names import BUILT_IN
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from shared.sweeping.sweep import SweepOptions
from tests.plugins.atlas import V2
from tests.shared.catalog.test_contract import over, soon
from tests.support.accelerator import PLACEHOLDER, TASK, add_types, mapping, name_of, plant_placeholder, plant_process
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.cli import runner
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.accelerator.coverage import Coverage, Edges, compared, edges_of, folded
from throughline.accelerator.leftovers import is_leftover, read_leftovers
from throughline.cli.main import app

ACCOUNT = "https://acme.dfs.core.windows.net/lake"
RAW, GOLD, MART = (f"{ACCOUNT}/{name}" for name in ("Raw", "gold", "mart"))
PATH = "azure_datalake_gen2_path"


def key(name: str, kind: str = PATH) -> AssetKey:
    return kind, name


def left(inputs: Iterable[AssetKey], output: AssetKey, columns: Mapping[str, str] | None = None) -> ForeignProcess:
    """A process of the accelerator; `columns`: of the first input."""
    sources = sorted(inputs)

    def end(asset: AssetKey) -> ForeignAsset:
        return ForeignAsset(type=asset[0], qualified_name=asset[1], name=asset[1].rpartition("/")[2])

    return ForeignProcess(
        type="databricks_process",
        qualified_name=name_of(sources, output),
        name="load",
        inputs=tuple(map(end, sources)),
        outputs=(end(output),),
        columns=tuple(((sources[0][1], name), (output[1], target)) for name, target in (columns or {}).items()),
    )


OWN = edges_of([key(RAW)], [key(GOLD)], mapping((key(RAW), key(GOLD), {"id": "id", "amount": "total"})))
CASES: dict[str, tuple[ForeignProcess, Coverage, int, int]] = {
    "the same": (left([key(RAW)], key(GOLD), {"id": "id", "amount": "total"}), Coverage.COVERED, 0, 0),
    "fewer columns": (left([key(RAW)], key(GOLD), {"ID": "Id"}), Coverage.COVERED, 0, 0),
    "no columns": (left([key(RAW)], key(GOLD)), Coverage.COVERED, 0, 0),
    "any column": (left([key(RAW)], key(GOLD), {"*": "*"}), Coverage.COVERED, 0, 0),
    "under a placeholder's name": (left([key(RAW.lower(), PLACEHOLDER)], key(GOLD)), Coverage.COVERED, 0, 0),
    "under the other host": (left([key(RAW.replace(".dfs.", ".blob."))], key(GOLD)), Coverage.COVERED, 0, 0),
    "as a resource set": (left([key(f"{RAW}/{{SparkPartitions}}")], key(f"{GOLD}/")), Coverage.COVERED, 0, 0),
    "and itself, as MERGE does": (left([key(RAW), key(GOLD)], key(GOLD)), Coverage.COVERED, 0, 0),
    "a column more": (left([key(RAW)], key(GOLD), {"id": "id", "tax": "total"}), Coverage.COLUMNS, 0, 1),
    "a source more": (left([key(RAW), key(MART)], key(GOLD)), Coverage.PARTLY, 1, 0),
    "another direction": (left([key(GOLD)], key(RAW)), Coverage.UNCOVERED, 1, 0),
    "another data set of that name below": (left([key(f"{RAW}/x")], key(GOLD)), Coverage.UNCOVERED, 1, 0),
    "no input": (left([], key(GOLD)), Coverage.EMPTY, 0, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_process_is_covered_if_ours_have_all_its_pairs(name: str) -> None:
    process, coverage, links, columns = CASES[name]
    result = compared("guid", process, OWN)
    assert (result.coverage, len(result.uncovered.links), len(result.uncovered.columns)) == (coverage, links, columns)
    assert result.may_go == (coverage is Coverage.COVERED)


def test_pairs_of_several_processes_of_ours_cover_one_of_theirs() -> None:
    their_process = left([key(RAW), key(MART)], key(GOLD))
    second = edges_of([key(MART)], [key(GOLD)], "[]")
    combined_edges = Edges(links=OWN.links | second.links, columns=OWN.columns)
    assert compared("guid", their_process, combined_edges).may_go
    assert not compared("guid", their_process, Edges()).may_go


@pytest.mark.parametrize(
    ("kind", "name", "patterns", "is_left"),
    [
        ("databricks_process", name_of([key(RAW)], key(GOLD)), (), True),
        ("databricks_process", f"{TASK}/processes/a->b", (), False),
        ("databricks_process", "databricks://adb-1.2.azuredatabricks.net/lineage/7", (), False),
        ("spark_process", f"sparkprocess://{RAW}:{GOLD}", (), True),
        ("spark_process", "application_1", (), False),
        ("azure_synapse_operation", "script://load", (), False),
        ("azure_synapse_operation", "script://load", ("adf://*", "script://*"), True),
        ("adf_copy_activity", "/subscriptions/x/factories/y", (), False),
    ],
)
def test_only_names_of_the_accelerator_and_those_asked_for_are_leftovers(
    kind: str, name: str, patterns: tuple[str, ...], is_left: bool
) -> None:
    process = ForeignProcess(type=kind, qualified_name=name, name="", inputs=(), outputs=())
    assert is_leftover(process, patterns) is is_left


def test_names_of_one_data_set_fold_to_one() -> None:
    assert folded(f"{RAW}/{{N}}/{{SparkPartitions}}") == folded(RAW.upper()) == folded(f"{RAW}/")
    assert folded("mssql://host/db/Sales Orders") == "mssql://host/db/sales orders"


# ---- on catalogs


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A catalog with an interface, and a record of ours that was published to it."""

    v2: V2
    worker: Worker

    def run(self, *arguments: str, say: str = "") -> Result:
        return runner.invoke(app, ("import", "purview", *arguments), input=say, obj=self.worker)

    def plan(self, *arguments: str) -> dict[str, list[dict[str, object]]]:
        result = self.run("--json", *arguments)
        assert result.exit_code in {0, 3}, result.output
        plan_document: dict[str, list[dict[str, object]]] = json.loads(result.stdout[result.stdout.index("{") :])
        return plan_document

    def listed(self, number: int) -> None:
        """Wait until search, which lags behind writes, lists so many leftovers."""
        worker = self.worker
        assert soon(lambda: len(read_leftovers(worker.catalog, worker.storage, ("script://*",)).processes), number)

    def names(self) -> set[str]:
        """The names of all processes of others."""
        worker = self.worker
        left_now = read_leftovers(worker.catalog, worker.storage, ("*",))
        return {process.qualified_name for process in left_now.processes.values()}


def scanned(v2: V2, *names: str) -> None:
    """Data sets that a scan has found."""
    entities = [
        {"typeName": "fs_path", "guid": f"-{number}", "attributes": {"qualifiedName": name, "name": name, "path": name}}
        for number, name in enumerate(names, start=1)
    ]
    v2.call("POST entity/bulk", {"entities": entities}).raise_for_status()


@pytest.fixture
def world(v2: V2) -> World:
    """We show raw → gold with two columns; a scan has found raw, gold and mart."""
    scanned(v2, *(f"file:///{name}" for name in ("raw", "gold", "mart")))
    add_types(v2.call)
    catalog = over(v2)
    client = SteadyAtlasClient(v2.endpoint, BasicAuthentication(v2.user, v2.password))
    worker = Worker(
        storage=MemoryStorage(),
        catalog=catalog,
        publishing=PublishOptions(),
        sweeping=SweepOptions(),
        names=BUILT_IN,
        documents=AtlasDocumentation(client),
    )
    fields = lineage({"id": [source("/raw", "id", IDENTITY)], "total": [source("/raw", "amount", IDENTITY)]})
    event = body(run="r", application="r", inputs=["/raw"], outputs=[dataset("/gold", columnLineage=fields)])
    for place in post(worker.storage, packed(event)):
        deliver_event(worker.storage, place)
    publish(worker.storage, worker.catalog, worker.publishing)
    return World(v2=v2, worker=worker)


FILE_RAW, FILE_GOLD, FILE_MART = (("fs_path", f"file:///{name}") for name in ("raw", "gold", "mart"))


@pytest.mark.contract
def test_what_is_covered_goes_with_its_placeholders_and_what_they_alone_have_stays(world: World) -> None:
    call = world.v2.call
    dummy = plant_placeholder(call, "file:///raw/")
    shared = plant_placeholder(call, "file:///elsewhere")
    covered = plant_process(call, [FILE_RAW], FILE_GOLD, mapping((FILE_RAW, FILE_GOLD, {"id": "id"})))
    by_dummy = plant_process(call, [dummy], FILE_GOLD)
    columns = plant_process(
        call, [FILE_RAW], FILE_GOLD, mapping((FILE_RAW, FILE_GOLD, {"id": "total"})), name=f"{covered[:-1]}0"
    )
    partly = plant_process(call, [FILE_RAW, FILE_MART], FILE_GOLD)
    lone_process = plant_process(call, [shared], FILE_MART)
    script = plant_process(call, [FILE_RAW], FILE_GOLD, name="script://load")
    copy = plant_process(call, [FILE_RAW], FILE_GOLD, name="adf://copy")
    world.listed(6)
    plan = world.plan("--like", "script://*")
    assert {str(process["qualified_name"]): process["coverage"] for process in plan["processes"]} == {
        covered: "covered",
        by_dummy: "covered",
        script: "covered",
        columns: "columns",
        partly: "partly",
        lone_process: "uncovered",
    }
    assert [placeholder["qualified_name"] for placeholder in plan["placeholders"]] == [dummy[1]]
    assert world.names() == {covered, by_dummy, columns, partly, lone_process, script, copy}, "a plan changes nothing"
    shown_result = world.run("--like", "script://*")
    assert shown_result.exit_code == 3
    assert (
        "6 processes left by others: 3 covered, 1 covered without its columns, 1 partly covered" in shown_result.output
    )
    assert "only it has file:///mart → file:///gold" in shown_result.output
    assert "only it has file:///raw.id → file:///gold.total" in shown_result.output
    assert "3 processes can go, and 1 placeholder with them" in shown_result.output

    refused = world.run("--like", "script://*", "--apply", say="n\n")
    assert (refused.exit_code, len(world.names())) == (1, 7)
    result = world.run("--like", "script://*", "--apply", "--yes")
    assert result.exit_code == 0, result.output
    assert "3 processes and 1 placeholder removed" in result.output
    assert world.names() == {columns, partly, lone_process, copy}
    present_assets = world.worker.catalog.find([FILE_RAW, FILE_GOLD, FILE_MART, shared, dummy])
    assert present_assets.keys() == {FILE_RAW, FILE_GOLD, FILE_MART, shared}, (
        "assets of a scan stay, and what is in use"
    )
    own_entries = [entry for entry in world.worker.catalog.ours() if entry.is_process]
    assert len(own_entries) == 1
    second_result = world.run("--like", "script://*", "--apply", "--yes")
    assert (second_result.exit_code, "can go" in second_result.output, "removed" in second_result.output) == (
        0,
        True,
        False,
    )


@pytest.mark.catalogs("local-soft")
def test_a_placeholder_that_a_person_documented_stays(world: World) -> None:
    dummy = plant_placeholder(world.v2.call, "file:///raw")
    plant_process(world.v2.call, [dummy], FILE_GOLD)
    attributes = {"qualifiedName": dummy[1], "name": "raw", "owner": "ann"}
    entity = {"typeName": dummy[0], "attributes": attributes}
    world.v2.call("POST entity/bulk", {"entities": [entity]}).raise_for_status()
    assert world.plan()["placeholders"] == []
    result = world.run("--apply", "--yes")
    assert "1 process and 0 placeholders removed" in result.output


@pytest.mark.catalogs("local-soft")
def test_a_process_that_changes_after_the_plan_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    name = plant_process(world.v2.call, [FILE_RAW], FILE_GOLD)

    def change(*_: object, **__: object) -> bool:
        plant_process(world.v2.call, [FILE_RAW, FILE_MART], FILE_GOLD, name=name)
        return True

    monkeypatch.setattr("typer.confirm", change)
    result = world.run("--apply")
    assert "0 processes and 0 placeholders removed" in result.output
    assert "does the accelerator still run?" in result.output
    assert world.names() == {name}


@pytest.mark.catalogs("local-soft")
def test_of_too_many_processes_those_around_data_sets_on_record_are_compared(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = plant_process(world.v2.call, [FILE_RAW], FILE_GOLD)
    scanned(world.v2, "file:///far", "file:///away")
    plant_process(world.v2.call, [("fs_path", "file:///far")], ("fs_path", "file:///away"))
    monkeypatch.setattr(type(world.worker.catalog), "changed_processes", lambda _self, _since: None)
    plan = world.plan()
    assert [process["qualified_name"] for process in plan["processes"]] == [near]
    assert "only those around data sets on record were compared" in " ".join(world.run().output.split())


@pytest.mark.catalogs("local-soft")
def test_nothing_left_ends_with_0_and_contradictions_with_2(world: World) -> None:
    result = world.run()
    assert (result.exit_code, "0 processes left by others" in result.output) == (0, True)
    assert world.run("--json", "--apply").exit_code == 2


@pytest.mark.catalogs("local-soft")
def test_shadow_mode_removes_nothing(world: World) -> None:
    plant_process(world.v2.call, [FILE_RAW], FILE_GOLD)
    shadowed = replace(world.worker, publishing=replace(world.worker.publishing, shadow=True))
    result = World(v2=world.v2, worker=shadowed).run("--apply", "--yes")
    assert (result.exit_code, len(world.names())) == (2, 1)


def test_our_own_processes_are_read_as_the_catalog_shows_them() -> None:
    entity = ProcessEntity(
        type="azure_synapse_operation",
        qualified_name="throughline:x",
        attributes=(("columnMapping", mapping((key(RAW), key(GOLD), {"a": "b"}))),),
        inputs=(key(RAW),),
        outputs=(key(GOLD),),
    )
    edges = edges_of(entity.inputs, entity.outputs, entity.shown["columnMapping"])
    assert edges.columns == {((folded(RAW), "a"), (folded(GOLD), "b"))}
