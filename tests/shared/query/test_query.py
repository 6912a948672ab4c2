"""The reading API: the same questions to the catalog and to our own record, with the same answers."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.atlas.entities import AssetEntity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import RetryPolicy, StaticToken, SteadyAtlasClient
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import Catalog
from shared.publishing.context import PublishOptions
from shared.query.processes import AmbiguousError, Dataset, InCatalog, OnRecord, Source, UnknownError, one_of
from shared.query.traversal import Lineage, lineage
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, stored_from_blob
from shared.translation.process.union import ALL_ROWS
from tests.support.building import IDENTITY, body, dataset, packed, source, step
from tests.support.building import lineage as columns_of
from tests.support.processing import settle
from tests.support.publishing import publish
from tests.support.receiving import receive

SIDEWAYS: Any = "sideways"
HOW = PublishOptions(now=lambda: datetime.now(UTC) + timedelta(hours=1))


def job(name: str, read: str, written: str, *pairs: tuple[str, str]) -> bytes:
    """A job that makes columns of columns."""
    fields: dict[str, list[object]] = {}
    for one, other in pairs:
        fields.setdefault(other, []).append(source(read, one, IDENTITY))
    decides = source(read, "day", step("INDIRECT", "FILTER"))
    columns = columns_of(fields, rows=[decides])  # type: ignore[arg-type]  # JSON objects
    return packed(
        body(
            run=name,
            application=name,
            app_name=name,
            inputs=[read],
            outputs=[dataset(written, columnLineage=columns)],
        )
    )


JOBS = (
    job("a", "/raw/people", "/clean/people", ("first", "name"), ("last", "name"), ("born", "age")),
    job("b", "/raw/cities", "/clean/cities", ("city", "city")),
    job("c", "/clean/people", "/mart/customers", ("name", "customer"), ("age", "age")),
    job("d", "/clean/cities", "/mart/places", ("city", "place")),
    job("e", "/mart/customers", "/raw/people", ("customer", "first")),
)
"""people → clean → mart → people: a circle; cities beside it."""


def publish_jobs(catalog: Catalog) -> MemoryStorage:
    storage = MemoryStorage()
    for each in JOBS:
        receive(storage, each, most_bytes=1_000_000)
    for fact in storage.blobs(EVENTS):
        settle(storage, stored_from_blob(fact.name))
    assert publish(storage, catalog, HOW).written == len(JOBS)
    return storage


@pytest.fixture(params=["memory", "atlas", "record"])
def place(request: pytest.FixtureRequest) -> Source:
    catalog: MemoryCatalog | AtlasCatalog = MemoryCatalog()
    if request.param == "atlas":
        server = request.getfixturevalue("fresh_catalog")
        catalog = AtlasCatalog(
            SteadyAtlasClient(server.endpoint, StaticToken(server.token), retry_policy=RetryPolicy(tries=1))
        )
    storage = publish_jobs(catalog)
    return OnRecord(storage, HOW) if request.param == "record" else InCatalog(catalog)


def names(found: Lineage) -> list[str]:
    return [each.qualified_name.removeprefix("file://") for each in found.datasets]


def test_lineage_is_followed_in_both_directions_to_the_requested_depth(place: Source) -> None:
    assert names(lineage(place, "/mart/places", direction="upstream", depth=1)) == ["/clean/cities"]
    assert names(lineage(place, "/mart/places", direction="upstream")) == ["/clean/cities", "/raw/cities"]
    assert names(lineage(place, "/raw/cities", direction="downstream")) == ["/clean/cities", "/mart/places"]
    assert names(lineage(place, "/mart/places", direction="downstream")) == []
    both = lineage(place, "/clean/cities")
    assert sorted(names(both)) == ["/mart/places", "/raw/cities"]
    assert {step.direction for step in both.steps} == {"upstream", "downstream"}


def test_only_the_requested_column_is_followed(place: Source) -> None:
    found = lineage(place, "/mart/customers", direction="upstream", depth=2, column="age")
    assert [step.columns for step in found.steps] == [(("age", "age"),), (("born", "age"),)]
    assert [(each.qualified_name, column) for each, column in found.columns] == [
        ("file:///clean/people", "age"),
        ("file:///raw/people", "born"),
    ]
    down = lineage(place, "/raw/people", direction="downstream", depth=2, column="last")
    assert [column for _, column in down.columns] == ["name", "customer"]


def test_a_cycle_is_followed_once(place: Source) -> None:
    found = lineage(place, "/mart/customers", direction="upstream", depth=20)
    assert sorted(names(found)) == ["/clean/people", "/raw/people"]
    assert len(found.steps) == 3
    assert [step.depth for step in found.steps] == [1, 2, 3]


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda at: lineage(at, "/nowhere"), UnknownError),
        (lambda at: lineage(at, "people"), AmbiguousError),
        (lambda at: lineage(at, "/mart/places", column="colour"), UnknownError),
        (lambda at: lineage(at, "/mart/places", depth=0), ValueError),
        (lambda at: lineage(at, "/mart/places", direction=SIDEWAYS), ValueError),
    ],
)
def test_an_unanswerable_question_raises_an_error(
    place: Source, ask: Callable[[Source], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ask(place)


def test_of_data_sets_with_one_name_the_one_with_lineage_is_meant() -> None:
    """After a change of a naming rule's type the placeholder under the earlier type stays for a while."""
    catalog = MemoryCatalog()
    publish_jobs(catalog)
    earlier = AssetEntity(type="hdfs_path", qualified_name="file:///mart/places", attributes=(("name", "places"),))
    catalog.create_assets([earlier])
    found = lineage(InCatalog(catalog), "/mart/places", direction="upstream", depth=1)
    assert (found.dataset.type, names(found)) == ("fs_path", ["/clean/cities"])
    assert lineage(InCatalog(catalog), "hdfs_path file:///mart/places").steps == ()


def test_a_data_set_can_be_named_by_type_and_qualified_name(place: Source) -> None:
    assert names(lineage(place, "fs_path file:///mart/places", direction="upstream", depth=1)) == ["/clean/cities"]
    with pytest.raises(UnknownError):
        lineage(place, "hdfs_path file:///mart/places")


def test_data_sets_with_one_name_are_listed_by_their_types() -> None:
    found = [Dataset(qualified_name="q/name", type=each, name="name") for each in ("one", "other")]
    with pytest.raises(AmbiguousError, match=r"2 data sets match 'name'.*\n  \"one q/name\"\n  \"other q/name\"$"):
        one_of(found, "name")
    assert one_of(found, "other q/name") is found[1]


def test_an_unknown_name_is_an_error_that_suggests_the_nearest(place: Source) -> None:
    with pytest.raises(UnknownError) as found:
        lineage(place, "/mart/custmers")
    assert "/mart/custmers" in str(found.value)
    if isinstance(place, OnRecord):  # the catalog's search gives nothing but matches
        assert "Did you mean file:///mart/customers" in str(found.value)
    with pytest.raises(UnknownError, match=r"/mart/places has no column 'plaec' with lineage\. Did you mean place"):
        lineage(place, "/mart/places", column="plaec")


def test_a_column_without_readers_has_no_downstream_steps(place: Source) -> None:
    assert lineage(place, "/mart/places", direction="downstream", column="place").steps == ()


def test_lineage_can_be_written_as_json(place: Source) -> None:
    found = json.loads(json.dumps(lineage(place, "/mart/places", depth=1).document()))
    (only,) = found["steps"]
    assert only["output"]["qualified_name"] == "file:///mart/places"
    assert only["columns"] == [["city", "place"]]
    assert found["column"] is None


@pytest.fixture
def cities() -> MemoryStorage:
    """/raw/cities → /clean/cities → /mart/places on record; the column `day` of each input decides which rows come."""
    storage = MemoryStorage()
    for each in (JOBS[1], JOBS[3]):
        receive(storage, each, most_bytes=1_000_000)
    for fact in storage.blobs(EVENTS):
        settle(storage, stored_from_blob(fact.name))
    publish(storage, MemoryCatalog(), HOW)
    return storage


@pytest.mark.parametrize(
    ("question", "columns", "with_conditions"),
    [
        ({"asset": "/clean/cities", "direction": "upstream"}, {"city"}, {"city", "day"}),
        ({"asset": "/clean/cities", "direction": "upstream", "column": "city"}, {"city"}, {"city", "day"}),
        ({"asset": "/mart/places", "direction": "upstream", "column": "place"}, {"city"}, {"city", "day"}),
        ({"asset": "/raw/cities", "direction": "downstream", "column": "city"}, {"city", "place"}, {"city", "place"}),
        ({"asset": "/clean/cities", "direction": "downstream", "column": "city"}, {"place"}, {"place"}),
    ],
)
def test_conditions_are_followed_on_demand(
    cities: MemoryStorage, question: dict[str, Any], columns: set[str], with_conditions: set[str]
) -> None:
    def read(*, with_indirect: bool) -> set[str]:
        return {column for _, column in lineage(OnRecord(cities, HOW, with_indirect=with_indirect), **question).columns}

    assert read(with_indirect=False) == columns
    assert read(with_indirect=True) == with_conditions


def test_a_condition_reaches_every_column_of_the_rows_that_it_decides(cities: MemoryStorage) -> None:
    record = OnRecord(cities, HOW, with_indirect=True)
    found = lineage(record, "/raw/cities", direction="downstream", column="day")
    assert [(step.output.name, step.columns) for step in found.steps] == [
        ("cities", (("day", ALL_ROWS),)),
        ("places", (("city", "place"), ("day", ALL_ROWS))),
    ]
