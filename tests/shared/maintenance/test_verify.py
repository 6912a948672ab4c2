"""Verify finds nothing in an undamaged world; it finds each kind of damage and repairs it once."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import StaticToken, SteadyAtlasClient
from shared.catalog.port import Catalog
from shared.maintenance.verify import verification
from shared.maintenance.verify.findings import CHANGED, MEANINGS, Inconsistency, VerifyContext
from shared.maintenance.verify.verification import verify
from shared.records.ledger import ledger_entry, put_entry
from shared.reporting.status import By, status
from shared.storage.memory import MemoryStorage
from shared.storage_layout import process_key
from tests.support.archiving import archive, archiving
from tests.support.azurite import on_azurite
from tests.support.damages import PLANTED, Planted, consistent_world
from tests.support.memory_catalog import MemoryCatalog
from throughline.local.catalog.server import CatalogServer


def found(world: VerifyContext, *, fix: bool = False) -> list[Inconsistency]:
    return [finding for finding in verify(world, fix=fix) if isinstance(finding, Inconsistency)]


def kinds(damages: list[Inconsistency]) -> tuple[str, ...]:
    return tuple(sorted({damage.kind for damage in damages}))


def described(findings: list[Inconsistency]) -> list[str]:
    return [f"{finding.kind}: {finding.subject} {finding.description} {finding.reason}" for finding in findings]


def held(catalog: Catalog) -> tuple[dict[str, Any], frozenset[str]]:
    """Our entities in the catalog: processes with their content, and placeholders."""
    own_nodes = list(catalog.ours())
    processes = catalog.read_processes([node.qualified_name for node in own_nodes if node.is_process])
    placed = frozenset(node.qualified_name for node in own_nodes if not node.is_process)
    return {name: process.entity for name, process in processes.items()}, placed


def check(world: VerifyContext, planted: Planted) -> None:
    """One damage is planted, found and repaired."""
    assert described(found(world)) == [], "the world is whole"
    contents_before = held(world.catalog)
    planted.plant(world)
    after_planting = held(world.catalog)
    damages = found(world)
    assert kinds(damages) == tuple(sorted(planted.kinds)), described(damages)
    assert planted.says in " ".join(damage.description for damage in damages), described(damages)
    assert all(damage.repaired is None for damage in damages)
    assert kinds(found(world)) == kinds(damages), "looking changes nothing"
    assert held(world.catalog) == after_planting
    repaired = found(world, fix=True)
    assert repaired
    assert planted.is_left or [damage for damage in repaired if not damage.repaired] == [], described(repaired)
    assert bool(found(world)) is planted.is_left, described(found(world))
    assert (held(world.catalog) == contents_before) is not planted.adds
    assert status(world.storage).reconciles
    assert status(world.storage).publish_queue == 0


def test_every_kind_is_planted() -> None:
    assert {kind for planted in PLANTED.values() for kind in planted.kinds} == MEANINGS.keys()


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_damage_is_found_and_repaired(planted: Planted) -> None:
    catalog = MemoryCatalog()
    world = consistent_world(MemoryStorage(), catalog)
    check(world, planted)
    writes = catalog.writes
    assert bool(found(world, fix=True)) is planted.is_left
    assert catalog.writes == writes, "done twice it writes nothing"


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_in_shadow_mode_no_repair_writes_to_the_catalog(planted: Planted) -> None:
    catalog = MemoryCatalog()
    world = consistent_world(MemoryStorage(), catalog)
    planted.plant(world)
    contents_before, writes = held(catalog), catalog.writes
    list(verify(replace(world, publishing=replace(world.publishing, shadow=True)), fix=True))
    assert (held(catalog), catalog.writes) == (contents_before, writes)


@pytest.mark.parametrize("check_subjects", [row[0] for row in verification._CHECKS], ids=lambda row: row.__name__)
def test_each_check_asks_whether_to_stop_and_then_ends(check_subjects: Callable[[VerifyContext], Any]) -> None:
    world = consistent_world(MemoryStorage(), MemoryCatalog())
    assert archive(world.storage, archiving()).archived > 0
    questions: list[None] = []

    def stopped() -> bool:
        questions.append(None)
        return True

    assert not [*check_subjects(replace(world, publishing=replace(world.publishing, stopped=stopped)))]
    assert questions


def test_a_repair_leaves_a_ledger_entry_that_changed_since_the_finding() -> None:
    """A publisher writes between finding and repair: its entry stays."""
    world = consistent_world(MemoryStorage(), MemoryCatalog())
    PLANTED["deleted process"].plant(world)
    (finding,) = found(world)
    entry = ledger_entry(world.storage, process_key(finding.subject.removeprefix("process ")))
    assert put_entry(world.storage, replace(entry, guid="another"))
    assert finding.repair() == CHANGED
    assert ledger_entry(world.storage, entry.process).guid == "another"


@pytest.mark.parametrize("name", ["lost record", "lost content of a record", "lost header", "lost content of a header"])
def test_verify_accepts_archived_runs_and_finds_and_repairs_their_lost_rows(name: str) -> None:
    world = consistent_world(MemoryStorage(), MemoryCatalog())
    event_groups_before = status(world.storage, by=(By.DAY, By.JOB)).groups
    assert archive(world.storage, archiving()).archived > 0
    assert status(world.storage, by=(By.DAY, By.JOB)).groups == event_groups_before, "wherever they lie"
    list(verify(world, fix=True))
    assert described(found(world)) == []
    PLANTED[name].plant(world)
    assert found(world)
    assert {damage.repaired for damage in found(world, fix=True)} == {True}
    assert described(found(world)) == []
    assert status(world.storage, by=(By.DAY, By.JOB)).groups == event_groups_before


@pytest.fixture(scope="module")
def real_world(empty_accounts: Iterator[str]) -> Iterator[VerifyContext]:
    """On Azurite and the local catalog, built once: each test leaves it whole, and the next one starts by that."""
    with CatalogServer() as catalog:
        client = SteadyAtlasClient(catalog.endpoint, StaticToken(catalog.token))
        yield consistent_world(on_azurite(next(empty_accounts)), AtlasCatalog(client))
        client.close()


REAL = (
    "event that was never noted",
    "lost record",
    "lost content of a record",
    "lost header",
    "lost part",
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
