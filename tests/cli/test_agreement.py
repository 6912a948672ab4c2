"""Commands work by the functions' settings: on Azurite and the local catalog, each command from a shell of its own."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from shared.bootstrap import Worker, assemble
from shared.records.control import Versions, note_versions, record_settings, settings_on_record
from shared.settings.reading import load
from shared.settings.table import SETTINGS
from shared.versions import LAYOUT, NAMING
from tests.support.events import run_id, write
from tests.support.publishing import post_and_deliver, publish
from throughline.cli.main import app
from throughline.local.catalog.server import CatalogServer

runner = CliRunner()

PUBLISHING = {
    "replay": ("replay", "--from", "2019-01-01"),
    "replay --all": ("replay", "--all"),
    "publish --missing": ("publish", "--missing"),
    "verify": ("verify", "--fix"),
    "reconcile": ("reconcile",),
    "deadletter": ("deadletter", "replay", "--all"),
}
REMOVING = {
    "retire": ("retire", "--unseen-days", "1", "--yes"),
    "purge": ("purge", "--yes"),
}
WRITING = {**PUBLISHING, **REMOVING}
ALSO_FROM_THE_LAKE = {**WRITING, "lake": ("lake", "publish", "--lake", "no-lake-is-opened")}


def each(commands: dict[str, tuple[str, ...]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("arguments", commands.values(), ids=commands.keys())


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Storage and a catalog, and the variables that name them."""

    connection: str
    catalog: CatalogServer

    @property
    def shell(self) -> dict[str, str]:
        """The environment of a shell that sets nothing else."""
        return {
            **{setting.name: "" for setting in SETTINGS},
            "AzureWebJobsStorage": self.connection,
            "THROUGHLINE_CATALOG_ENDPOINT": self.catalog.endpoint,
            "THROUGHLINE_CATALOG_TOKEN": self.catalog.token,
        }

    def functions(self, **settings: str) -> Worker:
        """The functions have started with these settings."""
        parts = assemble(load(catalog=True, environment={**self.shell, **settings}))
        record_settings(parts.storage, parts.to_record)
        return parts

    def run(self, *arguments: str, **settings: str) -> Result:
        """The output and writes of a command in a shell with these settings."""
        self.catalog.reset_calls()
        return runner.invoke(app, arguments, env={**self.shell, **settings})

    @property
    def writes(self) -> int:
        """The calls of the last command that wrote to the catalog."""
        return int(self.catalog.calls()["writes"])

    def shows(self, name: str) -> bool:
        """Whether the catalog has a data set of this name."""
        parts = assemble(load(catalog=True, environment=self.shell))
        return bool(parts.catalog.find([("fs_path", f"file://{name}")]))


def seeded(connection: str, catalog: CatalogServer) -> Place:
    """One process that was published, and two that wait."""
    seeded_place = Place(connection=connection, catalog=catalog)
    parts = assemble(load(catalog=True, environment=seeded_place.shell))
    post_and_deliver(parts.storage, *write("old", "app1", "2020-01-01T10:00", "/a", sink="/gone"))  # type: ignore[arg-type]  # any
    publish(parts.storage, parts.catalog, parts.publishing)
    for name, sink in (("new", "/b"), ("secret", "/secret/t2")):
        post_and_deliver(parts.storage, *write(name, f"app-{name}", "2026-11-20T10:00", "/a", sink=sink))  # type: ignore[arg-type]
    return seeded_place


@pytest.fixture(scope="module")
def place_without_writes(empty_accounts: Iterator[str]) -> Iterator[Place]:
    """For commands that are to write nothing to the catalog: one place for all of them."""
    with CatalogServer() as catalog:
        yield seeded(next(empty_accounts), catalog)


@pytest.fixture
def place(empty_account: str, fresh_catalog: CatalogServer) -> Place:
    """For commands that write: nothing of an earlier test is there."""
    return seeded(empty_account, fresh_catalog)


@each(ALSO_FROM_THE_LAKE)
def test_no_command_writes_to_the_catalog_when_the_functions_are_in_shadow_mode(
    place_without_writes: Place, arguments: tuple[str, ...]
) -> None:
    place_without_writes.functions(THROUGHLINE_SHADOW="true")
    result = place_without_writes.run(*arguments)
    assert place_without_writes.writes == 0
    assert "the functions are in shadow mode: nothing is written to the catalog" in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


@each(ALSO_FROM_THE_LAKE)
def test_no_command_writes_to_the_catalog_when_the_shell_is_in_shadow_mode(
    place_without_writes: Place, arguments: tuple[str, ...]
) -> None:
    place_without_writes.functions()
    result = place_without_writes.run(*arguments, THROUGHLINE_SHADOW="true")
    assert place_without_writes.writes == 0
    assert "this shell is (THROUGHLINE_SHADOW=true) in shadow mode" in result.output


READING = {"status": ("status",), "run": ("run", run_id("new")), "events": ("events",), "show": ("show", "/gone")}


def test_every_command_refuses_rows_of_another_layout(place: Place) -> None:
    parts = place.functions()
    note_versions(parts.storage, Versions(layout=LAYOUT - 1))
    for arguments in ({**WRITING, **READING}).values():
        result = place.run(*arguments)
        assert (result.exit_code, place.writes) == (2, 0), arguments
        refusal = f"written by another version of Throughline (naming {NAMING}, layout {LAYOUT - 1};"
        assert refusal in result.output, arguments


@each(REMOVING)
def test_a_removing_command_writes_to_the_catalog_outside_shadow_mode(place: Place, arguments: tuple[str, ...]) -> None:
    place.functions(THROUGHLINE_SHADOW="false")
    assert place.run(*arguments).exit_code == 0
    assert place.writes > 0


def test_a_shell_cannot_end_the_functions_shadow_mode(place_without_writes: Place) -> None:
    place_without_writes.functions(THROUGHLINE_SHADOW="true")
    place_without_writes.run("publish", "--missing", THROUGHLINE_SHADOW="false")
    assert place_without_writes.writes == 0


@each(PUBLISHING)
def test_commands_do_not_publish_paths_that_the_functions_exclude(place: Place, arguments: tuple[str, ...]) -> None:
    place.functions(THROUGHLINE_EXCLUDE_PATHS="*/secret/*")
    assert place.run(*arguments).exit_code == 0
    assert place.shows("/b")
    assert not place.shows("/secret/t2")


@each(ALSO_FROM_THE_LAKE)
def test_other_settings_are_refused_by_name(place_without_writes: Place, arguments: tuple[str, ...]) -> None:
    place_without_writes.functions(THROUGHLINE_APPLICATION_IDLE_MINUTES="30", THROUGHLINE_EXCLUDE_PATHS="*/secret/*")
    result = place_without_writes.run(
        *arguments, THROUGHLINE_APPLICATION_IDLE_MINUTES="5", THROUGHLINE_EXCLUDE_PATHS="*/private/*"
    )
    assert result.exit_code == 2
    assert "THROUGHLINE_APPLICATION_IDLE_MINUTES: the functions have 30, this shell has 5" in result.output
    assert "THROUGHLINE_EXCLUDE_PATHS: the functions have */secret/*, this shell has */private/*" in result.output
    assert "unset THROUGHLINE_APPLICATION_IDLE_MINUTES THROUGHLINE_EXCLUDE_PATHS" in result.output
    assert place_without_writes.writes == 0


def test_values_that_differ_only_in_spelling_are_accepted(place: Place) -> None:
    place.functions(THROUGHLINE_APPLICATION_IDLE_MINUTES="30", THROUGHLINE_EXCLUDE_PATHS="a,b")
    settings = {"THROUGHLINE_APPLICATION_IDLE_MINUTES": "30.0", "THROUGHLINE_EXCLUDE_PATHS": " a, b"}
    assert place.run("publish", "--missing", **settings).exit_code == 0


def test_other_rate_and_batch_limits_are_accepted(place: Place) -> None:
    place.functions(THROUGHLINE_MAX_CATALOG_RATE="20", THROUGHLINE_MAX_BATCH="50")
    result = place.run("publish", "--missing", THROUGHLINE_MAX_CATALOG_RATE="5", THROUGHLINE_MAX_BATCH="10")
    assert (result.exit_code, place.writes > 0) == (0, True)


def test_the_functions_settings_are_printed(place: Place) -> None:
    place.functions(THROUGHLINE_APPLICATION_IDLE_MINUTES="30")
    result = place.run("publish", "--missing")
    assert "settings: those of the functions, on record since 20" in result.output
    assert "THROUGHLINE_APPLICATION_IDLE_MINUTES=30" in result.output
    assert place.catalog.token not in result.output


def test_the_catalog_on_record_is_used_when_the_shell_names_none(place: Place) -> None:
    place.functions()
    result = place.run("publish", "--missing", THROUGHLINE_CATALOG_ENDPOINT="")
    assert (result.exit_code, place.writes > 0) == (0, True)


def test_another_catalog_is_refused(place_without_writes: Place) -> None:
    place_without_writes.functions()
    result = place_without_writes.run(
        "purge", "--yes", THROUGHLINE_CATALOG_ENDPOINT="http://127.0.0.1:9/datamap/api/atlas/v2"
    )
    assert result.exit_code == 2
    assert f"THROUGHLINE_CATALOG_ENDPOINT: the functions have {place_without_writes.catalog.endpoint}" in result.output


def test_without_recorded_settings_the_shells_settings_apply_with_a_notice(place: Place) -> None:
    result = place.run("publish", "--missing", THROUGHLINE_EXCLUDE_PATHS="*/secret/*")
    assert result.exit_code == 0
    assert "no functions have recorded their settings" in result.output
    assert (place.shows("/b"), place.shows("/secret/t2")) == (True, False)


def test_a_plan_with_other_settings_warns_and_is_not_refused(place_without_writes: Place) -> None:
    place_without_writes.functions(THROUGHLINE_APPLICATION_IDLE_MINUTES="30")
    result = place_without_writes.run("publish", "--missing", "--plan", THROUGHLINE_APPLICATION_IDLE_MINUTES="5")
    assert result.exit_code == 0
    assert "THROUGHLINE_APPLICATION_IDLE_MINUTES: the functions have 30, this shell has 5" in result.output


RULE = """
[[rules]]
rule = "ours"
type = "fs_path"
namespace = "file"
name = "(?P<path>/.*)"
qualified_name = "ours://{path}"
example = { namespace = "file", name = "/x", qualified_name = "ours:///x" }
"""


def test_naming_rules_on_record_are_used_without_their_file(place: Place, tmp_path: Path) -> None:
    names = tmp_path / "names.toml"
    names.write_text(RULE)
    place.functions(THROUGHLINE_NAMES=str(names))
    names.unlink()
    assert place.run("replay", "--from", "2019-01-01").exit_code == 0
    parts = assemble(load(catalog=True, environment=place.shell))
    assert parts.catalog.find([("fs_path", "ours:///b")])
    result = json.loads(place.run("explain", "file", "/b", "--look", "--json").stdout)
    assert result["qualified_name"] == "ours:///b", "explain names by the functions' rules"


def test_another_file_of_names_is_refused(place_without_writes: Place, tmp_path: Path) -> None:
    names = tmp_path / "names.toml"
    names.write_text(RULE)
    place_without_writes.functions(THROUGHLINE_NAMES=str(names))
    names.write_text(RULE.replace("ours://", "theirs://").replace('"ours"', '"theirs"'))
    result = place_without_writes.run("replay", THROUGHLINE_NAMES=str(names))
    assert result.exit_code == 2
    assert "THROUGHLINE_NAMES: the functions have a file of" in result.output


def test_settings_recorded_by_a_newer_version_are_refused(place_without_writes: Place) -> None:
    parts = place_without_writes.functions()
    record_settings(parts.storage, {**parts.to_record, "THROUGHLINE_NEWEST": "x"})
    result = place_without_writes.run("publish", "--missing")
    assert (result.exit_code, place_without_writes.writes) == (2, 0)
    assert "THROUGHLINE_NEWEST" in result.output
    assert "Install the version that is deployed" in result.output


def test_recorded_settings_contain_no_secret(place_without_writes: Place) -> None:
    settings = settings_on_record(place_without_writes.functions().storage)
    assert settings
    assert place_without_writes.catalog.token not in str(settings.texts)
    assert "AccountKey" not in str(settings.texts)
