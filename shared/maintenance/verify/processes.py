"""Damage to processes: what is on record, dirty marks, the ledger and the catalog against one another."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from shared.atlas.entities import ProcessEntity
from shared.catalog.port import HeldProcess, Node
from shared.errors import ContentLost
from shared.maintenance.verify.inconsistencies import Inconsistency, World
from shared.publishing.planner import Plan, Reading, current
from shared.publishing.publisher_lease import try_remove_placeholders
from shared.records.digest_set import combined_digest, short
from shared.records.ledger import LedgerEntry, ledger_entry, put_entry
from shared.records.publish_queue import QueueEntry, enqueue
from shared.records.states import LedgerState
from shared.storage_layout import PUBLISH_QUEUE, QUEUE_PARTITION, process_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A process as it should be, with what the ledger says (`plan.entry`), and what the catalog holds of it; `dirty`:
    it is to be published anyway, or only time may change it (`revisit`); `at_work`: it is to be published now.
    """

    plan: Plan
    dirty: QueueEntry | None = None
    at_work: bool = False
    held: HeldProcess | None = None

    @property
    def entry(self) -> LedgerEntry:
        """What the ledger says."""
        return self.plan.entry

    @property
    def name(self) -> str:
        """What it is called, as far as that is known."""
        return self.entry.qualified_name or (self.plan.entity.qualified_name if self.plan.entity else "")

    @property
    def subject(self) -> str:
        """What people see."""
        return f"process {self.name or self.entry.process}"

    def damage(self, words: str) -> Iterator[Inconsistency]:
        """This is wrong with it."""
        yield Inconsistency(subject=self.subject, words=words, about=self.entry)


def is_at_work(world: World, dirty: QueueEntry | None) -> bool:
    """Whether somebody is to publish what is marked so: now, not only once time may have changed it."""
    return dirty is not None and (not dirty.revisit or dirty.due <= world.publishing.now())


def lost_marks(world: World, found: Planned) -> Iterator[Inconsistency]:
    """What contributions say is not what was last written, and nobody is told to write it; or time may change it, and
    nobody is told to look.
    """
    plan, storage, process = found.plan, world.storage, found.entry.process
    if found.at_work or found.entry.state is LedgerState.WRITING or (found.held and not found.entry.etag):
        return
    if not plan.unchanged:
        before = found.entry.state is LedgerState.WRITTEN
        words = "differs from what was last written" if before else "was never written"
        words = words if plan.entity else "has nothing to say any more, but is in the catalog"
    elif plan.revisit and not found.dirty:
        words = f"is to be looked at again at {plan.revisit:%Y-%m-%d %H:%M}"
    else:
        return
    row = storage.read(PUBLISH_QUEUE, QUEUE_PARTITION, process)
    if not is_at_work(world, QueueEntry.of(row) if row else None) and ledger_entry(storage, process) == found.entry:
        yield from found.damage(f"{words}, and no mark says so")


def publish_again(world: World, damage: Inconsistency) -> bool:
    """Mark it, so that it is published as it should be."""
    enqueue(world.storage, [damage.about.process])
    return True


def lost_entries(_world: World, found: Planned) -> Iterator[Inconsistency]:
    """Processes that the catalog holds, that runs speak for, and that the ledger does not know."""
    if found.plan.entity and found.held and not found.entry.etag and not found.at_work:
        yield from found.damage("is in the catalog, but not in the ledger")


def unfinished_writes(world: World, found: Planned) -> Iterator[Inconsistency]:
    """Writes that somebody began and did not end, long after they can still land."""
    entry = found.entry
    if entry.state is LedgerState.WRITING and world.publishing.now() - entry.until >= world.grace:
        yield from found.damage(
            f"was being written until {entry.until:%Y-%m-%d %H:%M:%S}, and nobody says how that ended"
        )


def gone_processes(_world: World, found: Planned) -> Iterator[Inconsistency]:
    """Processes that we have written and somebody has deleted."""
    if found.entry.state is LedgerState.WRITTEN and found.held is None:
        yield from found.damage("was written, but the catalog has no such process")


def forget_written(world: World, damage: Inconsistency) -> bool:
    """Have the ledger say that nothing is there; then it is published anew."""
    return _change(world, replace(damage.about, state=LedgerState.NOTHING, fingerprint="", guid=""))


def _change(world: World, entry: LedgerEntry) -> bool:
    """Change the ledger, unless it has changed meanwhile, and have the process published by what it says then."""
    if put_entry(world.storage, entry) is None:
        return False
    enqueue(world.storage, [entry.process])
    return True


_LINEAGE = ("columnMapping",)
"""Of a process's attributes those that are lineage: its name and description people may word as they like."""


def changed_processes(_world: World, found: Planned) -> Iterator[Inconsistency]:
    """Processes whose lineage in the catalog is not what we wrote."""
    if found.entry.state is LedgerState.WRITTEN and found.held and found.plan.entity and found.plan.unchanged:
        differs = _differences(found.held.entity, found.plan.entity)
        if differs:
            yield from found.damage(f"was changed in the catalog by another hand: {', '.join(differs)}")


def _differences(held: ProcessEntity, wanted: ProcessEntity) -> list[str]:
    own, other = dict(held.attributes), dict(wanted.attributes)
    sides = [name for name in ("inputs", "outputs") if getattr(held, name) != getattr(wanted, name)]
    return sides + [name for name in _LINEAGE if own.get(name, "") != other.get(name, "")]


def write_again(world: World, damage: Inconsistency) -> bool:
    """Forget what was written, so that it counts as changed and is published."""
    return _change(world, replace(damage.about, fingerprint=""))


def other_guids(_world: World, found: Planned) -> Iterator[Inconsistency]:
    """Processes that somebody deleted and made anew under the same name: ours is no longer the one that it was."""
    if found.entry.state is LedgerState.WRITTEN and found.held and found.held.guid != found.entry.guid:
        yield Inconsistency(
            subject=found.subject,
            words=f"has the guid {found.held.guid} in the catalog, and {found.entry.guid or 'none'} in the ledger",
            about=(found.entry, found.held.guid),
        )


def note_guid(world: World, damage: Inconsistency) -> bool:
    """Have the ledger say what the catalog says."""
    entry, guid = damage.about
    return put_entry(world.storage, replace(entry, guid=guid)) is not None


def orphan_processes(world: World, node: Node) -> Iterator[Inconsistency]:
    """Processes of ours in the catalog that nothing on record speaks for."""
    name = node.qualified_name
    if world.survey.written.meet(short(process_key(name))) or _is_spoken_for(world, name):
        return
    if name in world.catalog.read_processes([name]):
        yield Inconsistency(subject=f"process {name}", words="is in the catalog, and nothing speaks for it", about=node)


def _is_spoken_for(world: World, qualified_name: str) -> bool:
    """Whether anything on record stands for a process."""
    entry = ledger_entry(world.storage, process_key(qualified_name))
    if entry.state is not LedgerState.NOTHING:
        return True
    try:
        return current(world.storage, entry.process, world.publishing, Reading()).process is not None
    except ContentLost:
        return True


def adopt(world: World, damage: Inconsistency) -> bool:
    """Have the ledger know of it: then the publisher removes it, as all that has nothing to say any more."""
    node: Node = damage.about
    if _is_spoken_for(world, node.qualified_name):
        return True
    entry = ledger_entry(world.storage, process_key(node.qualified_name))
    return _change(world, replace(entry, state=LedgerState.WRITTEN, qualified_name=node.qualified_name, guid=node.guid))


def unused_placeholders(world: World, node: Node) -> Iterator[Inconsistency]:
    """Data sets that we placed and that no process reads or writes any more."""
    if world.survey.used.meet(combined_digest(node.type, node.qualified_name)):
        return
    key = node.key
    found = world.catalog.placeholders([key]).get(key)
    if found and not found.links:
        yield Inconsistency(
            subject=f"{node.type} {node.qualified_name}", words="was placed by us, and no process uses it", about=node
        )


def remove_placeholder(world: World, damage: Inconsistency) -> bool:
    """Remove it, while nobody publishes: a publisher creates data sets before it writes what uses them."""
    node: Node = damage.about
    removed = try_remove_placeholders(world.storage, world.catalog, [node.key], wait=False)
    return removed is not None and not removed.kept
