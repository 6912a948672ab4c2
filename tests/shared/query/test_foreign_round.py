"""Foreign lineage on the sweeper's round: read around the document, joined to it, and no call without a change."""

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.port import AssetKey, ForeignProcess, ProcessLinks
from shared.errors import CatalogUnavailable
from shared.foreign import POSITION, foreign_lineage
from shared.lineage.document import Kind, LineageDocument, decoded
from shared.lineage.graph import LineageGraph, find_dataset
from shared.lineage.questions import dependents
from shared.publishing.context import PUBLISHER, PublishContext, PublishOptions
from shared.query.foreign_round import EVERY, read_foreign_due
from shared.query.published_document import DOCUMENT, publish_document
from shared.query.recorded_document import document_of_record
from shared.records.assets import all_assets
from shared.storage.memory import MemoryStorage
from shared.storage.port import start_session
from shared.storage_layout import FOREIGN, PUBLISHED
from shared.telemetry.port import Fact
from tests.plugins.atlas import V2
from tests.shared.catalog.test_contract import over
from tests.support.building import IDENTITY, body, dataset, packed, source
from tests.support.building import lineage as columns_of
from tests.support.foreign import TYPES, WORKSPACE, plant, plant_reports
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import Clock, publish, publish_options

KEEP = timedelta(days=400)
REPORT = "https://app.powerbi.com/groups/1/reports/2"


class CalledCatalog(MemoryCatalog):
    """Counts calls that read foreign lineage, and may be away."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.is_away = False

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.is_away:
            raise CatalogUnavailable("it is away", after=0)

    def process_links(self, keys: Iterable[AssetKey]) -> dict[AssetKey, ProcessLinks]:
        self._called("links")
        return super().process_links(keys)

    def foreign_processes(self, guids: Iterable[str]) -> dict[str, ForeignProcess]:
        self._called("processes")
        return super().foreign_processes(guids)

    def changed_processes(self, since: datetime) -> frozenset[str] | None:
        self._called("changed")
        return super().changed_processes(since - timedelta(days=3))  # the clock of this world is ahead


class World:
    """A job on record, its data sets in the catalog, and a report of others that reads what it writes."""

    def __init__(self, depth: int = 2) -> None:
        self.storage, self.catalog, self.clock, self.depth = MemoryStorage(), CalledCatalog(), Clock(), depth
        self.catalog.define(TYPES)

    @property
    def options(self) -> PublishOptions:
        options = publish_options(self.clock)
        return PublishOptions(
            **{name: getattr(options, name) for name in options.__slots__}
            | {"documents": True, "foreign_depth": self.depth}
        )

    def run(self, job: str) -> None:
        fields = columns_of({"amount": [source("/raw", "amount", IDENTITY)]})
        outputs = [dataset(f"/{job}", columnLineage=fields)]
        event = body(run=job, application=job, app_name=job, inputs=["/raw"], outputs=outputs)
        for place in post(self.storage, packed(event)):
            deliver_event(self.storage, place)
        publish(self.storage, self.catalog, self.options)

    def report(self, job: str, place: str = REPORT, name: str = "Sales by month") -> None:
        """Write a report of others that reads what a job writes."""
        (key,) = [key for key in self.catalog.assets if key[1].rstrip("/").endswith(f"/{job}")]
        report = AssetEntity(type="powerbi_report", qualified_name=place, attributes=(("name", name),))
        self.catalog.create_assets([report])
        mapping = {
            "DatasetMapping": {"Source": key[1], "Sink": place},
            "ColumnMapping": [{"Source": "AMOUNT", "Sink": "Total"}],
        }
        process = ProcessEntity(
            type="powerbi_report_process",
            qualified_name=f"{place}#process",
            attributes=(("name", name), ("columnMapping", json.dumps([mapping]))),
            inputs=(key,),
            outputs=(report.key,),
        )
        self.catalog.write_processes([process], self.catalog.find([key, report.key]))

    def round(self, minutes: int = 0) -> dict[str, Fact]:
        """One sweep's: read, then publish."""
        self.clock.at += timedelta(minutes=minutes)
        self.catalog.calls.clear()
        context = PublishContext(storage=self.storage, catalog=self.catalog, publishing=self.options)
        facts = dict(read_foreign_due(context))
        publish_document(self.storage, self.options, KEEP, seconds=lambda: 0.0)
        return facts

    @property
    def newest(self) -> LineageDocument:
        position = DOCUMENT.load(self.storage)
        assert position is not None
        return decoded(gzip.decompress(self.storage.get(PUBLISHED, position.blob) or b""))

    def foreign(self) -> list[str]:
        """The names of foreign processes in the newest document."""
        return [process.name for process in self.newest.processes if process.catalog_type]


@pytest.fixture
def world() -> World:
    foreign_world = World()
    foreign_world.run("orders")
    foreign_world.report("orders")
    foreign_world.round()  # nothing is published yet
    foreign_world.round(1)
    return foreign_world


def test_reports_join_the_document_with_names_types_and_columns(world: World) -> None:
    document = world.newest
    (process,) = [process for process in document.processes if process.catalog_type]
    assert (process.name, process.platform) == ("Sales by month", "Power BI")
    assert (process.catalog_type, process.namespace) == ("powerbi_report_process", "catalog")
    (report,) = [document.datasets[number] for number in process.outputs]
    assert (report.qualified_name, report.type, report.name) == (REPORT, "powerbi_report", "Sales by month")
    (edge,) = [edge for edge in document.edges if edge.kind is Kind.CATALOG]
    source_column, total = document.columns[edge.input], document.columns[edge.output]
    assert (source_column.name, total.name) == ("amount", "Total"), "in the capitals that our columns have"
    assert document.datasets[source_column.dataset].namespace == "file", "events name it, too"
    assert document == document_of_record(world.storage, world.options, expressions=True)


def test_off_costs_nothing_and_takes_it_out_again(world: World) -> None:
    world.depth = 0
    assert world.round(6) == {}
    assert world.catalog.calls == []
    assert world.foreign() == []
    disabled_world = World(depth=0)
    disabled_world.run("orders")
    disabled_world.round()
    disabled_world.round(6)
    assert disabled_world.catalog.calls == []
    assert POSITION.load(disabled_world.storage) is None


def test_without_a_change_one_search_is_all_and_only_now_and_then(world: World) -> None:
    world.round(1)
    for _ in range(3):
        assert world.round(1) == {}
        assert world.catalog.calls == []
    facts = world.round(int(EVERY / timedelta(minutes=1)))
    assert world.catalog.calls == ["changed", "processes"], "the report was changed, by this world's clock"
    assert facts["foreign_processes"] == 1
    assert len(list(world.storage.blobs(PUBLISHED, FOREIGN))) == 1


def test_a_new_report_is_found_by_search_and_a_new_table_at_once(world: World) -> None:
    world.report("orders", f"{REPORT}/new", "Sales by day")
    world.round(6)
    assert world.catalog.calls == ["changed", "processes", "links"], "the last is for what the new report leads to"
    assert sorted(world.foreign()) == ["Sales by day", "Sales by month"]
    world.run("returns")
    world.report("returns", f"{REPORT}/returns", "Returns")
    world.round(1)
    world.round(1)
    assert sorted(world.foreign()) == ["Returns", "Sales by day", "Sales by month"]


def test_a_deleted_report_leaves_within_a_day(world: World) -> None:
    world.catalog.remove(list(world.catalog.find([("powerbi_report_process", f"{REPORT}#process")]).values()))
    world.round(6)
    assert world.foreign() == ["Sales by month"]
    world.round(24 * 60)
    world.round(1)
    assert world.foreign() == []


def test_a_catalog_that_is_away_loses_nothing_and_is_tried_again(world: World) -> None:
    world.catalog.is_away = True
    assert world.round(6)["foreign_failed"] == "CatalogUnavailable"
    assert world.foreign() == ["Sales by month"]
    world.report("orders", f"{REPORT}/new", "Sales by day")
    assert world.round(1) == {}, "not each minute"
    world.catalog.is_away = False
    assert world.round(5)["foreign_failed"] == ""
    assert sorted(world.foreign()) == ["Sales by day", "Sales by month"], "what changed meanwhile is not missed"


def test_a_publisher_at_work_has_the_rate_for_itself(world: World) -> None:
    session = start_session(world.storage, PUBLISHER)
    assert session is not None
    assert world.round(6) == {}
    assert world.catalog.calls == []
    session.lease.release()
    assert world.round(0)["foreign_processes"] == 1


def test_a_damaged_blob_is_read_again(world: World) -> None:
    position = POSITION.load(world.storage)
    assert position is not None
    world.storage.delete_blob(PUBLISHED, position.blob)
    assert foreign_lineage(world.storage).foreign == ()
    world.storage.put_new(PUBLISHED, position.blob, b"damaged")
    assert foreign_lineage(world.storage).foreign == ()
    world.round(6)
    assert world.foreign() == ["Sales by month"]


def test_a_depth_that_is_raised_reads_further(world: World) -> None:
    dashboard = AssetEntity(type="powerbi_dashboard", qualified_name="dash", attributes=(("name", "Board"),))
    world.catalog.create_assets([dashboard])
    tile = ProcessEntity(
        type="powerbi_dashboard_process",
        qualified_name="tile",
        attributes=(("name", "Board"), ("columnMapping", "")),
        inputs=(("powerbi_report", REPORT),),
        outputs=(dashboard.key,),
    )
    world.catalog.write_processes([tile], world.catalog.find([*tile.inputs, *tile.outputs]))
    world.depth = 1
    world.round(6)
    assert world.foreign() == ["Sales by month"]
    world.depth = 2
    world.round(1)
    assert sorted(world.foreign()) == ["Board", "Sales by month"]


@pytest.mark.contract
def test_reports_and_dashboards_of_a_served_catalog_join_the_document(v2: V2) -> None:
    """With planted types, assets and processes, on the local catalog and on a real Atlas (`--atlas`)."""
    storage, clock, catalog = MemoryStorage(), Clock(), over(v2)
    options = replace(publish_options(clock), documents=True, foreign_depth=2)
    output = dataset("/orders", columnLineage=columns_of({"amount": [source("/raw", "amount", IDENTITY)]}))
    event = body(run="orders", application="orders", app_name="orders", inputs=["/raw"], outputs=[output])
    for place in post(storage, packed(event)):
        deliver_event(storage, place)
    publish(storage, catalog, options)
    (key,) = [record.own for record in all_assets(storage) if record.own[1].endswith("/orders")]
    plant_reports(v2.call, key, "Sales by month", "Sales by day", column="amount")
    report = ("powerbi_report", f"{WORKSPACE}/reports/Sales by day")
    board = ("powerbi_dashboard", f"{WORKSPACE}/dashboards/{{name}}")
    plant(v2.call, inputs=[report], output=board, process_type="powerbi_dashboard_process", names=["Board"])
    publish_document(storage, options, KEEP)
    context = PublishContext(storage=storage, catalog=catalog, publishing=options)
    facts = read_foreign_due(context)
    assert (facts["foreign_processes"], facts["foreign_failed"]) == (3, "")
    document = document_of_record(storage, options, expressions=True)
    reached = dependents(LineageGraph(document), dataset=find_dataset(document, "/raw"))
    datasets = [document.datasets[dependent.dataset] for dependent in reached]
    assert [(dependent.distance, dataset.name) for dependent, dataset in zip(reached, datasets, strict=True)] == [
        (1, "orders"),
        (2, "Sales by day"),
        (2, "Sales by month"),
        (3, "Board"),
    ]
    assert [dataset.type for dataset in datasets[1:]] == ["powerbi_report", "powerbi_report", "powerbi_dashboard"]
    assert sum(edge.kind is Kind.CATALOG for edge in document.edges) == 2


def test_a_process_on_itself_or_without_an_end_is_left_out(world: World) -> None:
    report = ("powerbi_report", REPORT)
    process = ProcessEntity(
        type="powerbi_report_process",
        qualified_name="refresh",
        attributes=(("name", "Refresh"), ("columnMapping", "")),
        inputs=(report,),
        outputs=(report,),
    )
    world.catalog.write_processes(
        [process, replace(process, qualified_name="reads", outputs=())], world.catalog.find([report])
    )
    world.round(6)
    assert world.foreign() == ["Sales by month"]
