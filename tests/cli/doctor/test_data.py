"""`throughline doctor` on storage, catalog, counts and receiver: each simulated failure is reported with a command."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.atlas.types import wanted_types
from shared.bootstrap import Worker
from shared.canary.hops import Canary, SendAnswer
from shared.canary.sender import Sender
from shared.catalog.port import Account, Collection
from shared.errors import CatalogRefused, CatalogUnavailable, StorageForbidden, StorageUnavailable
from shared.maintenance.publish_missing import publish_all
from shared.naming.names import BUILT_IN
from shared.publishing.context import PublishOptions
from shared.records.control import record_settings
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from shared.storage.port import BlobFact, Row
from shared.storage_layout import StoredEvent
from shared.sweeping.listing import SWEEP, SweepPosition
from shared.sweeping.sweep import SweepOptions
from tests.support.dead_letters import replace_blob
from tests.support.events import event
from tests.support.installation import installation
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import context_of
from tests.support.scripted import ScriptedAnswer, scripted
from throughline.cli.checks.catalog import check_catalog, check_connection
from throughline.cli.checks.data import check_counts, check_settings, check_storage, judge_counts
from throughline.cli.checks.findings import SECTIONS, CheckResult
from throughline.cli.checks.machine import check_machine
from throughline.cli.checks.trial_run import findings
from throughline.cli.checks.types import check_types
from throughline.local.toolchain.java import JavaHome, JavaNeed, NoJavaError
from throughline.local.toolchain.node import NodeError, NodeTools

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class Away(MemoryStorage):
    """Storage that refuses tables, blobs or both with `error`."""

    def __init__(self, error: StorageUnavailable, *, tables: bool = True) -> None:
        super().__init__()
        self.error, self.tables = error, tables

    def read(self, table: str, partition: str, key: str) -> Row | None:
        if self.tables:
            raise self.error
        return super().read(table, partition, key)

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:  # noqa: ARG002 - see the port
        raise self.error


class Refusing(MemoryCatalog):
    """A catalog that answers every call with `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def find(self, keys: Any) -> Any:  # noqa: ARG002 - see the port
        raise self.error

    def create_assets(self, assets: Any) -> Any:  # noqa: ARG002 - see the port
        raise self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTypes:
    """Types of a catalog that has only these."""

    definitions: tuple[Any, ...]

    def held(self) -> tuple[Any, ...]:
        return self.definitions


def types_of(change: dict[str, Any] | None) -> list[CheckResult]:
    """The finding for a catalog whose hive_table is missing or changed."""
    names = [{"name": name, "category": "ENTITY"} for name in ("Asset", "DataSet", "Process")]
    own_types: list[Any] = [
        wanted_type for wanted_type in wanted_types() if change is not None or wanted_type["name"] != "hive_table"
    ]
    own_types = [
        definition | (change or {}) if definition["name"] == "hive_table" else definition for definition in own_types
    ]
    held_types: Any = HeldTypes(definitions=(*names, *own_types))
    return list(check_types(replace(parts(), types=held_types)))


def test_types_that_few_need_and_not_every_purview_has_are_not_missed() -> None:
    held_types: Any = HeldTypes(
        definitions=(
            *({"name": name, "category": "ENTITY"} for name in ("Asset", "DataSet", "Process")),
            *(
                wanted_type
                for wanted_type in wanted_types()
                if not str(wanted_type["name"]).startswith("fabric_warehouse_table")
            ),
        )
    )
    (finding,) = check_types(replace(parts(), types=held_types))
    assert finding.code == ""


def refused_process() -> list[CheckResult]:
    storage = MemoryStorage()
    for place in post(storage, event("r1", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/o"])):
        deliver_event(storage, place)
    publish_all(context_of(storage, Refusing(CatalogRefused(400, "ATLAS-400-00-014", "no type"))))
    return counts_of(storage)


def settings_of(local_settings: dict[str, str], recorded: dict[str, str]) -> list[CheckResult]:
    """The finding where the functions recorded these settings and the shell has others."""
    worker = parts()
    record_settings(worker.storage, recorded)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in local_settings.items():
            environment.setenv(name, value)
        return list(check_settings(worker))


def test_the_settings_on_record_that_are_not_the_defaults_are_printed() -> None:
    (check_result,) = settings_of({}, {"THROUGHLINE_APPLICATION_IDLE_MINUTES": "50", "THROUGHLINE_SHADOW": "false"})
    assert "UTC: THROUGHLINE_APPLICATION_IDLE_MINUTES=50" in check_result.found
    assert "SHADOW" not in check_result.found


@dataclass(slots=True, kw_only=True)
class PurviewAccount:
    """A Purview account that shows `shown`, or answers with `error`; nobody is signed in where `nobody`."""

    shown: tuple[Collection, ...] = ()
    error: Exception | None = None
    nobody: bool = False
    host: str = field(default="https://pv.purview.azure.com")

    def caller(self) -> dict[str, str]:
        if self.nobody:
            raise CatalogUnavailable("No token for the catalog")
        return {"oid": "ann", "tid": "tenant-1"}

    def collections(self) -> tuple[Collection, ...]:
        if self.error:
            raise self.error
        return self.shown


def parts(
    *, storage: Any = None, catalog: Any = None, account: PurviewAccount | None = None, collection: str = ""
) -> Worker:
    held_account: Any = account
    known_account: Account | None = held_account
    return Worker(
        storage=storage or MemoryStorage(),
        catalog=catalog or MemoryCatalog(),
        account=known_account,
        collection=collection,
        publishing=PublishOptions(),
        sweeping=SweepOptions(),
        names=BUILT_IN,
    )


def storage_of(error: StorageUnavailable, *, tables: bool = True) -> list[CheckResult]:
    places = {"storage": "st", "scope": "/st", "group": "rg"}
    return list(check_storage(Away(error, tables=tables), places))


def counts_of(storage: MemoryStorage) -> list[CheckResult]:
    return list(check_counts(storage, {"group": "rg"}))


class Later(MemoryStorage):
    """Storage in which every blob came long ago."""

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
        for blob_fact in super().blobs(container, prefix):
            yield BlobFact(name=blob_fact.name, size=blob_fact.size, arrived=LONG_AGO)


def with_events(storage: MemoryStorage) -> MemoryStorage:
    """One published run and its two events."""
    bodies = [event("r1", kind, f"{hour}:00:00", inputs=["/a"], outputs=["/o"]) for kind, hour in RUN]
    for place in post(storage, *bodies):
        deliver_event(storage, place)
    publish_all(context_of(storage, MemoryCatalog()))
    return storage


RUN = (("START", "09"), ("COMPLETE", "10"))


def damaged(storage: MemoryStorage) -> MemoryStorage:
    """An event whose bytes are no event: delivering it makes a dead letter."""
    (place,) = post(storage, event("r1", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/o"]))
    replace_blob(storage, place, b"no gzip")
    deliver_event(storage, place)
    return storage


def unparsed(storage: MemoryStorage) -> MemoryStorage:
    """A run that has ended, and that nobody has processed."""
    post(storage, event("r1", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/o"]))
    SWEEP.save(storage, SweepPosition())
    return storage


def refused_by_catalog() -> list[CheckResult]:
    storage = MemoryStorage()
    for place in post(storage, event("r1", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/o"])):
        deliver_event(storage, place)
    publish_all(context_of(storage, Refusing(CatalogRefused(403, "x", "no"))))
    return counts_of(storage)


def catalog_of(
    account: PurviewAccount,
    *known_hosts: str,
    collection: str = "",
    catalog: MemoryCatalog | None = None,
    worker_host: str = "",
) -> list[CheckResult]:
    deployment = parts(account=account, collection=collection, catalog=catalog)
    return list(
        check_catalog(deployment, worker=worker_host, resolve=lambda host: host in known_hosts if known_hosts else True)
    )


ROOT = Collection(name="root", shown="Root")
READY = PurviewAccount(shown=(ROOT,))
BELOW = PurviewAccount(shown=(Collection(name="lineage", shown="Lineage", parent="pv"),))


def connected(error: Exception) -> list[CheckResult]:
    return list(check_connection(parts(catalog=Refusing(error))))


PLACES = {"group": "rg", "receiver": "func-r"}


def posted(*answers: ScriptedAnswer, slow: float = 5) -> list[CheckResult]:
    with scripted(*answers) as server:
        return followed(parts(), Sender(url=server.url, key="k").send, slow=slow)


def followed(
    worker: Worker, send: Callable[[bytes], SendAnswer], *, url: str = "", **limits: float
) -> list[CheckResult]:
    """A canary, with no patience unless it is given."""
    canary = Canary(
        context=worker, names=worker.names, send=send, owner="doctor", **({"patience": 0.0, "slow": 5.0} | limits)
    )
    return list(findings(canary.hops(canary.run()), {**PLACES, "url": url}))


def stopped_after(step: Callable[[MemoryStorage, StoredEvent], object]) -> list[CheckResult]:
    """A canary whose events are stored, and of which this alone becomes of them."""
    storage = MemoryStorage()

    def send(raw: bytes) -> SendAnswer:
        for place in post(storage, raw):
            step(storage, place)
        return SendAnswer(status=201)

    return followed(parts(storage=storage), send)


def not_withdrawn() -> list[CheckResult]:
    worker = parts()
    with installation(worker, refused="FAIL", key="k") as url:
        return followed(worker, Sender(url=url, key="k").send, patience=5.0)


def receiver_not_listening(url: str = "http://127.0.0.1:9") -> list[CheckResult]:
    return followed(parts(), Sender(url=url).send, url=url)


def machine(**facts: Any) -> list[CheckResult]:
    """A machine without problems except the given ones."""
    well: dict[str, Any] = {"java_of": java_21}
    return list(check_machine(local=True, **{**well, **facts}))


def java_21(_: JavaNeed) -> JavaHome:
    return JavaHome(path=Path("/j"), version=21, source="PATH")


def no_java_for_the_lake(need: JavaNeed) -> JavaHome:
    if need.lake:
        raise NoJavaError("no Java")
    return java_21(need)


def no_node() -> NodeTools:
    raise NodeError("no Node.js")


OK = ScriptedAnswer(status=201, body="{}")
CASES: dict[str, tuple[Callable[[], list[CheckResult]], str]] = {
    "python-old": (lambda: machine(python=(3, 10, 9)), "make setup PYTHON=python3.11"),
    "java-missing": (lambda: machine(java_of=no_java_for_the_lake), "make setup"),
    "node-missing": (lambda: machine(node_of=no_node), "make setup"),
    "counts-differ": (
        lambda: list(judge_counts(replace(status(with_events(MemoryStorage())), skipped=1))),
        "throughline verify --plan",
    ),
    "storage-network": (
        lambda: storage_of(StorageForbidden("no", code="AuthorizationFailure")),
        "az storage account show --resource-group rg --name st --query networkRuleSet",
    ),
    "storage-role": (
        lambda: storage_of(StorageForbidden("no", code="AuthorizationPermissionMismatch")),
        "--scope /st --role 'Storage Table Data Reader'",
    ),
    "storage-identity": (lambda: storage_of(StorageForbidden("No token for storage")), "az login"),
    "storage-away": (lambda: storage_of(StorageUnavailable("no answer")), "az storage account show --name st"),
    "dead-letters": (lambda: counts_of(damaged(MemoryStorage())), "throughline deadletter list"),
    "work-late": (lambda: counts_of(unparsed(Later())), "throughline status"),
    "sweep-missing": (lambda: counts_of(with_events(Later())), "throughline doctor --group rg"),
    "catalog-error": (refused_by_catalog, "throughline doctor --catalog"),
    "catalog-name": (lambda: catalog_of(READY, "login.microsoftonline.com"), "az resource list --resource-type"),
    "no-network": (lambda: catalog_of(READY, "nothing"), "export HTTPS_PROXY="),
    "catalog-identity": (lambda: catalog_of(PurviewAccount(nobody=True)), "az login"),
    "catalog-tenant": (
        lambda: catalog_of(PurviewAccount(error=CatalogRefused(401, "", "no"))),
        "az login --tenant TENANT",
    ),
    "catalog-closed": (
        lambda: catalog_of(PurviewAccount(error=CatalogRefused(403, "", "no"))),
        "throughline purview grant --account pv --collection COLLECTION --principal ann",
    ),
    "catalog-away": (
        lambda: catalog_of(PurviewAccount(error=CatalogUnavailable("too slow"))),
        "throughline doctor --catalog",
    ),
    "catalog-refused": (lambda: connected(CatalogRefused(404, "", "no such page")), "throughline types plan"),
    "catalog-role": (
        lambda: catalog_of(PurviewAccount(), collection="lineage"),
        "throughline purview grant --account pv --collection lineage --principal ann",
    ),
    "catalog-narrow": (
        lambda: catalog_of(BELOW),
        "throughline purview grant --account pv --collection pv --principal ann --role purview-reader",
    ),
    "catalog-roles-hidden": (
        lambda: catalog_of(BELOW, worker_host="w"),
        "throughline purview grant --account pv --collection pv --principal w --role purview-reader --plan",
    ),
    "collection-wrong": (lambda: catalog_of(READY, collection="Root"), "export THROUGHLINE_COLLECTION=root"),
    "types-missing": (lambda: types_of(None), "throughline types apply"),
    "types-differ": (lambda: types_of({"category": "STRUCT"}), "throughline types plan"),
    "catalog-refuses": (refused_process, "throughline types plan"),
    "settings-differ": (
        lambda: settings_of(
            {"THROUGHLINE_APPLICATION_IDLE_MINUTES": "7"}, {"THROUGHLINE_APPLICATION_IDLE_MINUTES": "50"}
        ),
        "unset THROUGHLINE_APPLICATION_IDLE_MINUTES",
    ),
    "settings-unreadable": (lambda: settings_of({}, {"THROUGHLINE_NEWER": "x"}), "throughline status"),
    "receiver-unreachable": (receiver_not_listening, "curl --verbose http://127.0.0.1:9"),
    "receiver-key": (
        lambda: posted(ScriptedAnswer(status=401)),
        "az functionapp keys set --resource-group rg --name func-r",
    ),
    "receiver-closed": (
        lambda: posted(ScriptedAnswer(status=403)),
        "access-restriction show --resource-group rg --name func-r",
    ),
    "receiver-missing": (lambda: posted(ScriptedAnswer(status=404)), "throughline doctor --group rg"),
    "receiver-storage": (lambda: posted(ScriptedAnswer(status=503)), "throughline doctor --group rg"),
    "receiver-error": (
        lambda: posted(OK, ScriptedAnswer(status=500, body="boom")),
        "az webapp log tail --resource-group rg",
    ),
    "receiver-slow": (
        lambda: posted(ScriptedAnswer(status=201, body="{}", late=0.2), slow=0.1)[:1],
        "--name func-r --always-on true",
    ),
    "event-unstored": (lambda: posted(OK, OK, OK), "throughline doctor --group rg"),
    "event-unfolded": (lambda: stopped_after(lambda _, place: place), "throughline doctor --group rg"),
    "event-late": (lambda: stopped_after(deliver_event), "throughline status"),
    "trial-left": (not_withdrawn, "throughline status"),
}


@pytest.mark.parametrize("code", CASES)
def test_a_failure_is_reported_with_its_command(code: str) -> None:
    look, command = CASES[code]
    wrong = [finding for finding in look() if not finding.good]
    assert [finding.code for finding in wrong] == [code], wrong
    assert command in wrong[0].command


def test_a_refused_blob_read_is_reported_with_the_role_for_blobs() -> None:
    (wrong,) = storage_of(StorageForbidden("no", code="AuthorizationPermissionMismatch"), tables=False)
    assert "--role 'Storage Blob Data Reader'" in wrong.command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CatalogRefused(401, "", "no"), "catalog-tenant"),
        (CatalogRefused(403, "", "no"), "catalog-closed"),
        (CatalogUnavailable("No token for the catalog (x): sign in"), "catalog-identity"),
        (CatalogUnavailable("too slow"), "catalog-away"),
    ],
)
def test_the_connection_check_reports_failures_by_the_same_codes(error: Exception, code: str) -> None:
    (wrong,) = connected(error)
    assert (wrong.code, wrong.subject) == (code, "catalog connection")


def test_events_waiting_for_their_run_are_counted_apart_from_events_in_progress() -> None:
    """Runs that `status` counts as waiting were shown as 0 in progress, without the others."""
    storage = MemoryStorage()
    for place in post(storage, event("r1", "START", "10:00:00", inputs=["/a"], outputs=["/o"])):
        deliver_event(storage, place)
    (in_work,) = [finding for finding in counts_of(storage) if finding.subject == "waiting events"]
    assert in_work.found == "1 waiting for their run's end or for the end of shadow mode"


def test_each_check_has_its_own_subject() -> None:
    check_results = [*check_storage(MemoryStorage(), {}), *check_connection(parts()), *refused_by_catalog()]
    subjects = [finding.subject for finding in check_results]
    assert len(set(subjects)) == len(subjects)
    assert {"catalog connection", "catalog writes"} <= set(subjects)


def test_a_healthy_installation_has_only_good_findings() -> None:
    storage = with_events(MemoryStorage())
    found = [*check_machine(local=False), *check_storage(storage, {}), *counts_of(storage), *posted_without_errors()]
    assert [finding for finding in found if not finding.good] == []
    assert [finding.found for finding in found if finding.subject == "counts"] == [
        "2 received = 2 published + 0 skipped + 0 waiting + 0 dead"
    ]


def posted_without_errors() -> list[CheckResult]:
    return posted(OK, OK, OK)[:2]


def test_every_rule_outside_azure_has_a_case() -> None:
    sections = ("This machine", "Storage", "The catalog", "The receiver", "The settings", "The counts")
    assert {rule.code for section in sections for rule in SECTIONS[section]} == set(CASES)


def test_a_receiver_at_an_address_that_cannot_exist_is_unreachable() -> None:
    (finding,) = receiver_not_listening("http://a..b")
    assert finding.code == "receiver-unreachable"
