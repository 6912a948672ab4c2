"""`throughline lake run` and `publish` by the functions' settings, on Sail, Azurite and the local catalog."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from local.azurite import Azurite
from local.catalog import CatalogServer
from shared.bootstrap import assemble
from shared.records.settings_record import record_settings
from shared.settings.reading import load
from shared.settings.table import SETTINGS
from tests.support.events import write


@pytest.fixture
def shell(fresh_catalog: CatalogServer) -> Iterator[dict[str, str]]:
    """An environment that names storage and a catalog of its own, and sets nothing else."""
    with Azurite() as azurite:
        yield {
            **{setting.name: "" for setting in SETTINGS},
            "AzureWebJobsStorage": azurite.connection_string,
            "THROUGHLINE_CATALOG_ENDPOINT": fresh_catalog.endpoint,
            "THROUGHLINE_CATALOG_TOKEN": fresh_catalog.token,
        }


def run_in(folder: Path, environment: dict[str, str], *words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own: in one of them PySpark speaks to one kind of engine."""
    command = [sys.executable, "-m", "cli", "lake", *map(str, words), "--lake", str(folder), "--engine", "sail"]
    given = {name: text for name, text in {**os.environ, **environment}.items() if text}
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=300)


def test_a_lake_is_made_and_published_by_the_functions_settings(
    shell: dict[str, str], fresh_catalog: CatalogServer, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    bodies = [*write("a", "app", "10:00", "/in", sink="/b"), *write("b", "app2", "10:00", "/in", sink="/secret/t2")]
    (events / "all.jsonl").write_bytes(b"\n".join(bodies))
    theirs = {"THROUGHLINE_EXCLUDE_PATHS": "*/secret/*", "THROUGHLINE_APPLICATION_IDLE_MINUTES": "30"}
    parts = assemble(load(catalog=True, environment={**shell, **theirs}))
    record_settings(parts.storage, parts.to_record)

    lake = partial(run_in, tmp_path / "lake", shell)
    assert lake("run", events).returncode == 0
    done = lake("publish")
    assert (done.returncode, "1 written" in done.stdout) == (0, True), done.stdout + done.stderr
    held = [("fs_path", f"file://{name}") for name in ("/in", "/b", "/secret/t2")]
    assert sorted(name for _, name in parts.catalog.find(held)) == ["file:///b", "file:///in"]

    record_settings(parts.storage, {**parts.to_record, "THROUGHLINE_APPLICATION_IDLE_MINUTES": "45"})
    fresh_catalog.reset_calls()
    refused = lake("publish")
    assert (refused.returncode, fresh_catalog.calls()["writes"]) == (2, 0)
    assert "this lake was made by other settings than the functions'" in refused.stderr
