"""`throughline backfill`: output, writes and exit codes."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import HeldProcess
from shared.errors import CatalogUnavailable
from shared.maintenance.backfill import backfill, last_backfill
from tests.support.backfill import catalog_with_other_guids
from tests.support.cli import Parts
from tests.support.events import write
from tests.support.publishing import context_of, post_and_settle


@pytest.fixture
def parts() -> Parts:
    """Three processes that wait, and a catalog that holds nothing."""
    found = Parts()
    for name in "abc":
        post_and_settle(found.storage, *write(name, f"app{name}", "10:00", "/in", sink=f"/{name}"))
    return found


def test_backfill_writes_the_planned_processes_once(parts: Parts) -> None:
    assert "3 processes in the publish queue" in parts.run("backfill", "--plan").output
    assert parts.catalog.writes == 0
    done = parts.run("backfill")
    assert done.exit_code == 0
    assert "3 written, 0 removed, 0 unchanged" in done.output
    assert len(parts.catalog.processes) == 3
    writes = parts.catalog.writes
    again = parts.run("backfill", "--json")
    assert json.loads(again.output)["done"]["written"] == 0
    assert parts.catalog.writes == writes


def test_backfill_writes_all_processes_again_to_an_empty_catalog(parts: Parts) -> None:
    parts.run("backfill")
    parts.catalog = catalog_with_other_guids()
    parts.worker = replace(parts.worker, catalog=parts.catalog)
    assert json.loads(parts.run("backfill", "--plan", "--json").output) == {"waiting": 0, "written": 3, "missing": 3}
    assert "3 processes looked up, 3 missing" in parts.run("backfill").output
    assert len(parts.catalog.processes) == 3


def test_a_stopped_backfill_is_resumed(parts: Parts) -> None:
    assert "nothing to resume" in parts.run("backfill", "--resume").output
    parts.run("backfill")
    parts.worker = replace(parts.worker, catalog=catalog_with_other_guids())
    reports: list[object] = []
    how = replace(parts.worker.publishing, stopped=lambda: len(reports) > 1)
    backfill(context_of(parts.storage, parts.worker.catalog, how), progress=reports.append)
    assert last_backfill(parts.storage) is not None
    done = parts.run("backfill", "--resume")
    assert done.exit_code == 0
    assert json.loads(parts.run("backfill", "--plan", "--json").output)["missing"] == 0


def test_backfill_with_an_unavailable_catalog_names_the_command_that_continues(parts: Parts) -> None:
    class Away(MemoryCatalog):
        def read_processes(self, qualified_names: Iterable[str]) -> dict[str, HeldProcess]:
            raise CatalogUnavailable(f"no answer for {qualified_names}")

    parts.run("backfill")
    parts.worker = replace(parts.worker, catalog=Away())
    result = parts.run("backfill", "--plan")
    assert result.exit_code == 1
    assert "--resume` continues" in result.output


def test_backfill_in_shadow_mode_writes_nothing(parts: Parts) -> None:
    parts.shadow()
    assert "shadow mode" in parts.run("backfill").output
    assert parts.catalog.writes == 0
