"""`throughline publish`: output, writes and exit codes."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from shared.catalog.port import HeldProcess
from shared.errors import CatalogUnavailable
from shared.maintenance.publish_missing import MISSING, publish_missing
from tests.support.cli import Parts
from tests.support.events import write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.other_catalogs import catalog_with_other_guids
from tests.support.publishing import context_of, post_and_deliver


@pytest.fixture
def parts() -> Parts:
    """Three processes that wait, and a catalog that holds nothing."""
    loaded_parts = Parts()
    for name in "abc":
        post_and_deliver(loaded_parts.storage, *write(name, f"app{name}", "10:00", "/in", sink=f"/{name}"))
    return loaded_parts


def test_publish_missing_writes_the_planned_processes_once(parts: Parts) -> None:
    assert "3 processes in the publish queue" in parts.run("publish", "--missing", "--plan").output
    assert parts.catalog.writes == 0
    result = parts.run("publish", "--missing")
    assert result.exit_code == 0
    assert "3 written, 0 removed, 0 unchanged" in result.output
    assert len(parts.catalog.processes) == 3
    writes = parts.catalog.writes
    second_result = parts.run("publish", "--missing", "--json")
    assert json.loads(second_result.output)["published"]["written"] == 0
    assert parts.catalog.writes == writes


def test_publish_missing_writes_all_processes_again_to_an_empty_catalog(parts: Parts) -> None:
    parts.run("publish", "--missing")
    parts.catalog = catalog_with_other_guids()
    parts.worker = replace(parts.worker, catalog=parts.catalog)
    assert json.loads(parts.run("publish", "--missing", "--plan", "--json").output) == {
        "waiting": 0,
        "written": 3,
        "missing": 3,
    }
    assert "3 processes looked up, 3 missing" in parts.run("publish", "--missing").output
    assert len(parts.catalog.processes) == 3


def test_a_stopped_one_is_resumed(parts: Parts) -> None:
    assert "nothing to resume" in parts.run("publish", "--missing", "--resume").output
    parts.run("publish", "--missing")
    parts.worker = replace(parts.worker, catalog=catalog_with_other_guids())
    reports: list[object] = []
    options = replace(parts.worker.publishing, stopped=lambda: len(reports) > 1)
    publish_missing(context_of(parts.storage, parts.worker.catalog, options), progress=reports.append)
    assert MISSING.load(parts.storage) is not None
    result = parts.run("publish", "--missing", "--resume")
    assert result.exit_code == 0
    assert json.loads(parts.run("publish", "--missing", "--plan", "--json").output)["missing"] == 0


def test_publish_missing_with_an_unavailable_catalog_names_the_command_that_continues(parts: Parts) -> None:
    class Away(MemoryCatalog):
        def read_processes(self, qualified_names: Iterable[str]) -> dict[str, HeldProcess]:
            raise CatalogUnavailable(f"no answer for {qualified_names}")

    parts.run("publish", "--missing")
    parts.worker = replace(parts.worker, catalog=Away())
    result = parts.run("publish", "--missing", "--plan")
    assert result.exit_code == 1
    assert "--resume` continues" in result.output


def test_publish_missing_in_shadow_mode_writes_nothing(parts: Parts) -> None:
    parts.shadow()
    assert "shadow mode" in parts.run("publish", "--missing").output
    assert parts.catalog.writes == 0


def test_without_missing_only_the_queue_is_published(parts: Parts) -> None:
    assert "3 written" in parts.run("publish").output
    parts.worker = replace(parts.worker, catalog=catalog_with_other_guids())
    assert "0 written" in parts.run("publish").output
    wrong = parts.run("publish", "--plan")
    assert (wrong.exit_code, "are for --missing" in wrong.output) == (2, True)
