"""The sweeper's function reads foreign lineage: on Azurite, from the local catalog over HTTP."""

import gc
import gzip
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

import sweeper_function
from shared.bootstrap import worker
from shared.errors import Misconfigured
from shared.foreign import POSITION
from shared.lineage.document import decoded
from shared.publishing.publisher import Publisher
from shared.query.published_document import DOCUMENT
from shared.records.assets import all_assets
from shared.storage_layout import PUBLISHED
from tests.plugins.atlas import V2
from tests.support.building import IDENTITY, body, dataset, packed, source
from tests.support.building import lineage as columns_of
from tests.support.foreign import plant_reports
from tests.support.processing import deliver_event, post
from throughline.local.catalog.server import CatalogServer


def sweep() -> None:
    sweeper_function.main(SimpleNamespace(past_due=False))  # type: ignore[arg-type]  # stands for a timer's request


@pytest.fixture
def environment(
    monkeypatch: pytest.MonkeyPatch, empty_account: str, fresh_catalog: CatalogServer
) -> Iterator[pytest.MonkeyPatch]:
    """The settings of the functions; the process is as before afterwards."""
    settings = {
        "AzureWebJobsStorage": empty_account,
        "THROUGHLINE_CATALOG_ENDPOINT": fresh_catalog.endpoint,
        "THROUGHLINE_CATALOG_TOKEN": fresh_catalog.token,
        "THROUGHLINE_DOCUMENT": "true",
        "THROUGHLINE_FOREIGN_DEPTH": "2",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    thresholds = gc.get_threshold()
    worker.cache_clear()
    yield monkeypatch
    worker.cache_clear()
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("environment")
def test_reports_in_the_catalog_are_in_the_published_document(fresh_catalog: CatalogServer) -> None:
    parts = worker()
    output = dataset("/clean", columnLineage=columns_of({"amount": [source("/raw", "amount", IDENTITY)]}))
    event = body(run="job", application="job", app_name="job", inputs=["/raw"], outputs=[output])
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    Publisher(context=parts).publish()
    (key,) = [record.own for record in all_assets(parts.storage) if record.own[1].endswith("/clean")]
    server = V2(url=fresh_catalog.url, user="admin", password=fresh_catalog.token, soft=True, real=False)
    plant_reports(server.call, key, "Sales by month", column="amount")
    sweep()  # there is no document yet to read around
    newest = DOCUMENT.load(parts.storage)
    assert newest is not None
    DOCUMENT.save(parts.storage, replace(newest, seconds=0.0))  # or the next one would wait
    sweep()
    newest, position = DOCUMENT.load(parts.storage), POSITION.load(parts.storage)
    assert newest is not None
    assert position is not None
    assert (position.waiting, position.failed) == (0, False)
    document = decoded(gzip.decompress(parts.storage.get(PUBLISHED, newest.blob) or b""))
    assert [process.name for process in document.processes if process.catalog_type] == ["Sales by month"]


def test_it_needs_the_lineage_document(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("THROUGHLINE_DOCUMENT")
    with pytest.raises(Misconfigured, match="set THROUGHLINE_DOCUMENT to true"):
        worker()
