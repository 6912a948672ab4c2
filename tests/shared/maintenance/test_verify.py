"""Verify finds nothing in an undamaged world; it finds each kind of damage and repairs it once."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from local.catalog.server import CatalogServer
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import StaticToken, SteadyAtlasClient
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import Catalog
from shared.events.archiver import archive
from shared.maintenance.verify.checks import CHANGED, FoundInconsistency, VerifyContext
from shared.maintenance.verify.verification import KINDS, verify
from shared.records.ledger import ledger_entry
from shared.records.publish_queue import enqueue
from shared.reporting.status import By, status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import process_key
from tests.support.archiving import AT_ONCE
from tests.support.azurite import on_azurite
from tests.support.damages import PLANTED, Planted, consistent_world
from tests.support.events import write
from tests.support.processing import post, settle
from tests.support.publishing import publish


def found(world: VerifyContext, *, fix: bool = False) -> list[FoundInconsistency]:
    return [each for each in verify(world, fix=fix) if isinstance(each, FoundInconsistency)]


def kinds(damages: list[FoundInconsistency]) -> tuple[str, ...]:
    return tuple(sorted({each.kind.name for each in damages}))


def described(findings: list[FoundInconsistency]) -> list[str]:
    return [f"{each.kind.name}: {each.inconsistency} {each.reason}" for each in findings]


def held(catalog: Catalog) -> tuple[dict[str, Any], frozenset[str]]:
    """Our entities in the catalog: processes with their content, and placeholders."""
    ours = list(catalog.ours())
    processes = catalog.read_processes([node.qualified_name for node in ours if node.is_process])
    placed = frozenset(node.qualified_name for node in ours if not node.is_process)
    return {name: each.entity for name, each in processes.items()}, placed


def check(world: VerifyContext, planted: Planted) -> None:
    """One damage is planted, found and repaired."""
    assert described(found(world)) == [], "the world is whole"
    before = held(world.catalog)
    planted.plant(world)
    after_planting = held(world.catalog)
    damages = found(world)
    assert kinds(damages) == tuple(sorted(planted.kinds)), described(damages)
    assert planted.says in " ".join(each.inconsistency.description for each in damages), described(damages)
    assert all(each.repaired is None for each in damages)
    assert kinds(found(world)) == kinds(damages), "looking changes nothing"
    assert held(world.catalog) == after_planting
    repaired = found(world, fix=True)
    assert repaired
    assert [each for each in repaired if not each.repaired] == [], described(repaired)
    assert described(found(world)) == [], "nothing is left"
    assert (held(world.catalog) == before) is not planted.adds
    assert status(world.storage).reconciles
    assert status(world.storage).publish_queue == 0


def test_every_kind_is_planted() -> None:
    assert {name for planted in PLANTED.values() for name in planted.kinds} == {kind.name for kind in KINDS}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_damage_is_found_and_repaired(planted: Planted) -> None:
    catalog = MemoryCatalog()
    world = consistent_world(MemoryStorage(), catalog)
    check(world, planted)
    writes = catalog.writes
    assert found(world, fix=True) == []
    assert catalog.writes == writes, "done twice it writes nothing"


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_in_shadow_mode_no_repair_writes_to_the_catalog(planted: Planted) -> None:
    catalog = MemoryCatalog()
    world = consistent_world(MemoryStorage(), catalog)
    planted.plant(world)
    before, writes = held(catalog), catalog.writes
    list(verify(replace(world, publishing=replace(world.publishing, shadow=True)), fix=True))
    assert (held(catalog), catalog.writes) == (before, writes)


def test_an_unreadable_process_does_not_hold_up_other_processes() -> None:
    world = consistent_world(MemoryStorage(), MemoryCatalog())
    PLANTED["lost content of a contribution"].plant(world)
    for place in post(world.storage, *write("n", "app1", "15:00", "/new", sink="/new_too")):
        settle(world.storage, place)
    enqueue(world.storage, [row.partition for row in world.storage.scan("ledger")])
    done = publish(world.storage, world.catalog, world.publishing)
    assert (done.written, done.refused) == (1, 1)
    assert "verify --fix" in status(world.storage).last_errors[0]
    assert kinds(found(world, fix=True)) == ("lost content",)
    assert status(world.storage).publish_queue == 0


def test_a_repair_leaves_a_ledger_entry_that_changed_since_the_finding() -> None:
    """A publisher writes between finding and repair: its entry stays."""
    world = consistent_world(MemoryStorage(), MemoryCatalog())
    PLANTED["deleted process"].plant(world)
    (finding,) = found(world)
    entry = ledger_entry(world.storage, process_key(finding.inconsistency.subject.removeprefix("process ")))
    assert world.storage.replace("ledger", replace(entry, guid="another").row())
    assert finding.inconsistency.repair() == CHANGED
    assert ledger_entry(world.storage, entry.process).guid == "another"


def test_verify_accepts_archived_runs_and_finds_and_repairs_their_lost_states() -> None:
    world = consistent_world(MemoryStorage(), MemoryCatalog())
    before = status(world.storage, by=(By.DAY, By.JOB)).groups
    assert archive(world.storage, AT_ONCE)["archived"] > 0
    assert status(world.storage, by=(By.DAY, By.JOB)).groups == before, "wherever they lie"
    assert described(found(world)) == []
    PLANTED["lost state"].plant(world)
    assert kinds(found(world)) == ("unprocessed run",)
    assert [each.repaired for each in found(world, fix=True)] == [True]
    assert described(found(world)) == []


@pytest.fixture(scope="module")
def real_world(empty_accounts: Iterator[str]) -> Iterator[VerifyContext]:
    """On Azurite and the local catalog, built once: each test leaves it whole, and the next one starts by that."""
    with CatalogServer() as catalog:
        client = SteadyAtlasClient(catalog.endpoint, StaticToken(catalog.token))
        yield consistent_world(on_azurite(next(empty_accounts)), AtlasCatalog(client))
        client.close()


REAL = (
    "lost event row",
    "lost event blob",
    "lost state",
    "lost content of a contribution",
    "contribution of an unknown run",
    "lost lifecycle row",
    "lost ledger entry",
    "deleted process",
    "removed input",
    "recreated process",
    "orphan process",
    "unused placeholder",
    "repaired dead letter",
)


@pytest.mark.azurite
@pytest.mark.parametrize("planted", [PLANTED[name] for name in REAL], ids=REAL)
def test_damage_is_repaired_on_azurite_and_the_local_catalog(planted: Planted, real_world: VerifyContext) -> None:
    check(real_world, planted)
