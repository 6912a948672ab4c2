"""`throughline shadow`, `retire` and `purge`: output, writes and exit codes."""

import json
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from shared.errors import CatalogUnavailable
from shared.records.control import Versions, note_versions
from tests.support.cli import Parts
from tests.support.events import write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publishing import post_and_deliver, publish


@pytest.fixture
def parts() -> Parts:
    """Two processes in the catalog, one of them unseen since 2020."""
    loaded_parts = Parts()
    post_and_deliver(loaded_parts.storage, *write("old", "app1", "2020-01-01T10:00", "/a", sink="/gone[1]"))
    post_and_deliver(loaded_parts.storage, *write("new", "app2", "2026-11-20T10:00", "/a", sink="/b"))
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    return loaded_parts


def test_retire_lists_asks_and_removes(parts: Parts) -> None:
    result = parts.run("retire", "--plan", "--unseen-days", "1000")
    assert result.exit_code == 0
    assert "1 process unseen for 1,000 days, 1 placeholder that nothing will use" in result.output
    assert "2020-01-01  throughline:v1://tests/app/file/gone[1]" in result.output
    assert parts.run("retire", "--unseen-days", "1000", say="n\n").exit_code == 1
    assert len(parts.catalog.processes) == 2
    done = parts.run("retire", "--unseen-days", "1000", "--yes")
    assert done.exit_code == 0
    assert "1 process retired" in done.output
    assert "1 placeholder removed" in done.output
    assert [name.rpartition("/")[2] for name in parts.catalog.processes] == ["b"]
    assert "0 processes unseen" in parts.run("retire", "--unseen-days", "1000", "--yes").output


def test_retire_in_json(parts: Parts) -> None:
    retirement_plan = json.loads(parts.run("retire", "--plan", "--unseen-days", "1000", "--json").output)
    assert retirement_plan == {
        "processes": [
            {"qualified_name": "throughline:v1://tests/app/file/gone[1]", "last": "2020-01-01T10:00:30+00:00"}
        ],
        "placeholders": [{"type": "fs_path", "qualified_name": "file:///gone[1]"}],
    }
    assert parts.run("retire", "--json").exit_code == 2
    assert len(parts.catalog.processes) == 2


def test_retire_in_shadow_mode_records_the_removals_only(parts: Parts) -> None:
    parts.shadow()
    result = parts.run("retire", "--unseen-days", "1000", "--yes")
    assert "placeholders stay" in result.output
    assert len(parts.catalog.processes) == 2
    assert json.loads(parts.run("shadow", "--json").output)["count"] == {"write": 0, "remove": 1, "describe": 0}


def test_purge_lists_asks_and_removes(parts: Parts) -> None:
    result = parts.run("purge", "--plan", "--most", "1")
    assert "2 processes and 3 placeholders created by Throughline" in result.output
    assert "and 1 more (--most)" in result.output
    assert parts.run("purge", say="\n").exit_code == 1
    assert len(parts.catalog.processes) == 2
    assert len(json.loads(parts.run("purge", "--plan", "--json").output)["placeholders"]) == 3
    done = parts.run("purge", say="y\n")
    assert (done.exit_code, "2 processes and 3 placeholders removed" in done.output) == (0, True)
    assert (parts.catalog.processes, parts.catalog.assets) == ({}, {})
    assert "0 processes and 0 placeholders created by Throughline" in parts.run("purge", "--yes").output


def test_purge_in_shadow_mode_removes_nothing(parts: Parts) -> None:
    parts.shadow()
    assert "THROUGHLINE_SHADOW=false" in parts.run("purge", "--yes").output
    assert parts.run("purge", "--plan").exit_code == 0
    assert len(parts.catalog.processes) == 2


def test_purge_stops_between_two_batches_and_continues_with_the_next_call(parts: Parts) -> None:
    class Interrupting(MemoryCatalog):
        def remove(self, guids: Sequence[str]) -> None:
            super().remove(guids)
            signal.raise_signal(signal.SIGINT)

    catalog = Interrupting()
    catalog.__dict__.update(parts.catalog.__dict__)
    worker = parts.worker
    parts.worker = replace(worker, catalog=catalog)
    result = parts.run("purge", "--yes")
    assert (result.exit_code, "2 processes and 0 placeholders removed" in result.output) == (130, True)
    parts.worker = worker
    assert "0 processes and 3 placeholders removed" in parts.run("purge", "--yes").output


@pytest.mark.parametrize("command", [("purge",), ("retire",)])
def test_an_unavailable_catalog_ends_the_command_with_a_message(parts: Parts, command: tuple[str, ...]) -> None:
    class Away(MemoryCatalog):
        def placeholders(self, keys: Any) -> Any:
            raise CatalogUnavailable(f"no answer for {len(list(keys))}")

    parts.worker = replace(parts.worker, catalog=Away())
    result = parts.run(*command, "--plan")
    assert (result.exit_code, "Nothing is half done" in result.output) == (1, True)


def test_shadow_lists_the_pending_writes_and_status_counts_them(parts: Parts) -> None:
    assert "no writes are waiting" in parts.run("shadow").output
    parts.shadow()
    post_and_deliver(parts.storage, *write("more", "app2", "2026-11-20T10:05", "/c[bold]", sink="/d"))
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    assert "write    throughline:v1://tests/app/file/d and 2 new assets" in parts.run("shadow").output
    document = json.loads(parts.run("shadow", "--json").output)
    assert document["shadow"] is True
    assert document["held"][0]["creates"][0] == {"type": "fs_path", "qualified_name": "file:///c[bold]"}
    assert "would write 1 process, 2 assets, remove 0" in parts.run("status").output
    counts = json.loads(parts.run("status", "--json").output)
    assert counts["shadow"] == {"writes": 1, "creates": 2, "removes": 0, "describes": 0}
    assert counts["waiting_for"] == {"the end of shadow mode": 2}


def test_status_reports_that_another_version_wrote_the_stored_data(parts: Parts) -> None:
    note_versions(parts.storage, Versions(naming="v9"))
    problem = json.loads(parts.run("status", "--json").output)["version_problem"]
    assert problem.startswith("The stored data was written by another version of Throughline (naming v9, layout 3;")
