"""`throughline types`: on a catalog that has them, on one that is plain, and on one whose types are another's."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from typer.testing import CliRunner, Result

from shared.atlas.types import TypeAction, type_changes, wanted_types
from shared.bootstrap import Worker
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.account import AtlasTypes
from shared.catalog.connection.transport import RetryPolicy, StaticToken, SteadyAtlasClient
from shared.naming.names import BUILT_IN
from shared.naming.stores import STORES
from shared.naming.user_rules import parse_names
from shared.publishing.context import PublishOptions
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from shared.sweeping.sweep import SweepOptions
from tests.support.events import write
from tests.support.processing import post
from tests.support.publishing import publish
from tests.support.scanned import scanned
from tests.support.scanned_jobs import deliver_all, jobs
from throughline.cli.main import app
from throughline.local.catalog.server import CatalogServer

runner = CliRunner()


@pytest.fixture(scope="module")
def plain_server() -> Iterator[CatalogServer]:
    """A catalog that has only the types of an Atlas without further models."""
    with CatalogServer(types="plain") as server:
        yield server


@pytest.fixture
def plain(plain_server: CatalogServer) -> CatalogServer:
    plain_server.reset(types=True)
    return plain_server


def worker(server: CatalogServer) -> Worker:
    client = SteadyAtlasClient(server.endpoint, StaticToken(server.token), retry_policy=RetryPolicy(tries=1))
    return Worker(
        storage=MemoryStorage(),
        catalog=AtlasCatalog(client),
        types=AtlasTypes(client),
        publishing=PublishOptions(now=lambda: datetime.now(UTC) + timedelta(hours=1)),
        sweeping=SweepOptions(),
        names=BUILT_IN,
    )


def run(parts: Worker, *arguments: str) -> Result:
    return runner.invoke(app, ("types", *arguments), obj=parts)


def put(server: CatalogServer, method: str, definition: Any) -> None:
    answer = requests.request(
        method,
        f"{server.endpoint}/types/typedefs",
        json={"entityDefs": [definition]},
        headers={"Authorization": f"Bearer {server.token}"},
        timeout=60,
    )
    answer.raise_for_status()


def test_the_types_of_purview_are_complete(fresh_catalog: CatalogServer) -> None:
    result = run(worker(fresh_catalog), "plan")
    assert (result.exit_code, "nothing to do" in result.output) == (0, True)
    assert run(worker(fresh_catalog), "apply").exit_code == 0
    assert fresh_catalog.calls()["writes"] == 0


def test_a_plain_catalog_gets_missing_types_once(plain: CatalogServer) -> None:
    parts = worker(plain)
    planned = run(parts, "plan", "--json")
    assert planned.exit_code == 3
    changes = json.loads(planned.output)["changes"]
    assert {change["action"] for change in changes} == {"create"}
    assert {change["name"] for change in changes} == {wanted_type["name"] for wanted_type in wanted_types()}
    assert run(parts, "apply").exit_code == 0
    assert run(parts, "plan").exit_code == 0
    plain.reset_calls()
    assert run(parts, "apply").exit_code == 0
    assert plain.calls()["writes"] == 0, "applied again it changes nothing"


def test_after_apply_lineage_of_all_forms_can_be_written_to_a_plain_catalog(plain: CatalogServer) -> None:
    parts = worker(plain)
    assert run(parts, "apply").exit_code == 0
    deliver_all(parts.storage, [event for _, _, event in jobs(list(scanned(40)))])  # type: ignore[arg-type]  # is memory
    publish_result = publish(parts.storage, parts.catalog, parts.publishing)
    assert (publish_result.written, publish_result.refused, publish_result.error) == (40, 0, "")


def ours(name: str = "column", **changes: Any) -> Any:
    return next(wanted_type for wanted_type in wanted_types() if wanted_type["name"] == name) | changes


def test_our_type_gets_its_missing_attributes(plain: CatalogServer) -> None:
    put(plain, "POST", ours(attributeDefs=[]))
    parts = worker(plain)
    result = run(parts, "plan")
    assert result.exit_code == 3
    assert "~ entity column: gets type" in result.output
    assert run(parts, "apply").exit_code == 0
    assert run(parts, "plan").exit_code == 0


def test_a_type_of_another_owner_is_reported_and_not_changed(plain: CatalogServer) -> None:
    put(plain, "POST", ours(attributeDefs=[], serviceType="theirs"))
    parts = worker(plain)
    result = run(parts, "plan")
    assert result.exit_code == 1
    assert "! entity column: has no type" in result.output
    applied = run(parts, "apply")
    assert applied.exit_code == 1
    assert [type_change.name for type_change in type_changes(AtlasTypes(parts.catalog._client).held())] == ["column"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"superTypes": ["Asset"]}, "is no DataSet"),
        ({"attributeDefs": [{"name": "cluster", "typeName": "string", "isOptional": False}]}, "demands cluster"),
        ({"category": "STRUCT"}, "is a struct"),
    ],
)
def test_an_incompatible_type_is_found(change: Any, message: str) -> None:
    held_types: list[Any] = [
        *({"name": "DataSet", "category": "ENTITY", "superTypes": ["Asset"]}, {"name": "Asset"}),
        *wanted_types(),
    ]
    changed_types = [
        definition | change if definition["name"] == "hive_table" else definition for definition in held_types
    ]
    (type_change,) = type_changes(changed_types)
    assert (type_change.name, type_change.action) == ("hive_table", TypeAction.DIFFERS)
    assert message in type_change.what[0]


def test_a_relationship_between_other_types_is_found() -> None:
    held_types: list[Any] = [
        {"name": "DataSet", "category": "ENTITY"},
        {"name": "Process", "category": "ENTITY"},
        *wanted_types(),
    ]
    changed_types = [
        definition | {"endDef2": {"type": "column", "name": "schema"}}
        if definition["name"] == "tabular_schema_columns"
        else definition
        for definition in held_types
    ]
    (type_change,) = type_changes(changed_types)
    assert type_change.what == ("leads to column.schema, not column.composeSchema",)


def test_a_catalog_without_types_is_reported(fresh_catalog: CatalogServer) -> None:
    assert run(replace(worker(fresh_catalog), types=None), "plan").exit_code == 2


def test_every_built_in_naming_rule_has_a_wanted_type() -> None:
    type_names = {wanted_type["name"] for wanted_type in wanted_types()} | {"DataSet"}
    assert {rule.type for store in STORES for rule in store.rules} <= type_names


RULES = """
[[rules]]
rule = "sales"
type = "sales_store"
namespace = "file"
name = "(?P<path>/sales/.*)"
qualified_name = "sales:/{path}"
"""


@pytest.fixture
def with_rule(fresh_catalog: CatalogServer) -> Worker:
    """A worker whose file of names has a rule with a type that the catalog lacks."""
    return replace(worker(fresh_catalog), names=parse_names(RULES, "names.toml"))


def test_the_type_of_a_naming_rule_is_planned_and_created(with_rule: Worker) -> None:
    result = run(with_rule, "plan")
    assert result.exit_code == 3
    assert "+ entity sales_store: named by the rule sales" in result.output
    (change,) = json.loads(run(with_rule, "plan", "--json").output)["changes"]
    assert (change["name"], change["action"], change["rules"]) == ("sales_store", "create", ["sales"])
    assert run(with_rule, "apply").exit_code == 0
    assert run(with_rule, "plan").exit_code == 0


def test_a_rule_with_a_type_that_is_no_data_set_is_reported(with_rule: Worker) -> None:
    parts = replace(with_rule, names=parse_names(RULES.replace("sales_store", "Process"), "names.toml"))
    result = run(parts, "plan")
    assert result.exit_code == 1
    assert "! entity Process: is no DataSet, named by the rule sales" in result.output
    look = runner.invoke(app, ("explain", "file", "/sales/x", "--look"), obj=parts)
    assert "the catalog's type Process, named by the rule sales is no DataSet" in look.output


@pytest.fixture
def file_of_names(tmp_path: Path) -> Path:
    """The file of names that has the rule."""
    path = tmp_path / "names.toml"
    path.write_text(RULES)
    return path


def test_a_file_of_names_given_as_an_option_is_used_for_this_command(with_rule: Worker, file_of_names: Path) -> None:
    parts = replace(with_rule, names=BUILT_IN)
    plan, names = ("plan", "--json"), ("--names", str(file_of_names))
    assert [change["name"] for change in json.loads(run(parts, *plan, *names).output)["changes"]] == ["sales_store"]
    assert json.loads(run(parts, *plan).output)["changes"] == []
    assert "1 created, 0 updated" in run(parts, "apply", *names).output
    assert json.loads(run(parts, *plan, *names).output)["changes"] == []


def test_explain_reports_a_missing_type_before_a_write_fails(with_rule: Worker, file_of_names: Path) -> None:
    look = ("explain", "file", "/sales/x", "--look")
    result = runner.invoke(app, look, obj=with_rule)
    assert "it can't be published: the catalog lacks the type sales_store, named by the rule sales" in result.output
    assert "`throughline types apply` creates it" in result.output
    tried = runner.invoke(app, (*look, "--names", str(file_of_names)), obj=replace(with_rule, names=BUILT_IN))
    assert f"`throughline types apply --names {file_of_names}` creates it" in "".join(tried.output.split("\n"))
    assert "sales_store" in json.loads(runner.invoke(app, (*look, "--json"), obj=with_rule).output)["type_problem"]
    run(with_rule, "apply")
    assert "a placeholder would be created" in runner.invoke(app, look, obj=with_rule).output


def test_explain_reports_a_missing_type_of_a_file_named_by_the_command(
    tmp_path: Path, fresh_catalog: CatalogServer
) -> None:
    """A rule is tried by `--names` before the settings know of it."""
    file = tmp_path / "names.toml"
    file.write_text(RULES)
    look = ("explain", "file", "/sales/x", "--look", "--names", str(file))
    result = runner.invoke(app, look, obj=worker(fresh_catalog))
    assert "it can't be published: the catalog lacks the type sales_store, named by the rule sales" in result.output


def test_doctor_reports_a_missing_type_before_a_write_fails(with_rule: Worker) -> None:
    steps = {step["subject"]: step for step in doctor(with_rule)}
    assert steps["catalog types"]["code"] == "types-missing"
    assert steps["catalog types"]["found"] == "the catalog lacks the type sales_store, named by the rule sales"
    assert steps["catalog types"]["command"] == "throughline types apply"
    run(with_rule, "apply")
    assert {step["subject"]: step["state"] for step in doctor(with_rule)}["catalog types"] == "good"


def doctor(parts: Worker) -> Any:
    return json.loads(runner.invoke(app, ("doctor", "--json"), obj=parts).stdout)["findings"]


def test_a_process_refused_for_a_missing_type_is_published_when_the_type_exists(with_rule: Worker) -> None:
    storage = with_rule.storage
    for place in post(
        storage, *write("a", "app", "10:00", "/in", sink="/sales/x"), *write("b", "app2", "10:00", "/in")
    ):
        with_rule.delivery.deliver(place, storage.get(EVENTS, place.blob) or b"")
    options = replace(with_rule.publishing, now=lambda: datetime.now(UTC))
    publish_result = publish(storage, with_rule.catalog, options)
    assert (publish_result.written, publish_result.refused) == (1, 1), "and the other one is not held up"
    current_status = status(storage)
    assert current_status.waiting_for == {"a catalog that refuses the process": 2}
    assert (current_status.reconciles, current_status.in_progress, current_status.publish_queue) == (True, 0, 1)
    (error,) = current_status.last_errors
    assert error.startswith("catalog refuses throughline:v1://tests/app/file/sales/x: 400 ATLAS-400-00-014")
    assert "`throughline types plan`" in error
    (step,) = [finding for finding in doctor(with_rule) if finding["subject"] == "refused process"]
    assert (step["found"], step["code"], "retried" in step["means"]) == (error, "catalog-refuses", True)
    assert publish(storage, with_rule.catalog, options).written == 0, "it is not due yet"
    assert "1 process that the catalog refused" in run(with_rule, "apply").output
    assert publish(storage, with_rule.catalog, options).written == 1
    assert status(storage).last_errors == ()
