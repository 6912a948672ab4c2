"""Upgrading: processes that an older naming named go by their present names, and the old ones leave.

The runs behind a process are settled again, which takes back what they said under the old name. What can't be settled
any more (its events are gone, or it is one of the many runs that are kept as a span only) keeps its word under the new
name, where the others tell which that is. The publisher then writes the new process and removes the old one after it.
What is done drops out of what is found, so an upgrade that was cut off just goes on.
"""

import functools
import operator
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec
from msgspec import structs

from shared.errors import Contended, Refused
from shared.model import Lineage, Process
from shared.naming import Names
from shared.openlineage import decode, merge
from shared.pipeline.archive_index import archived_of, kept_events
from shared.pipeline.dirty import mark_dirty
from shared.pipeline.ledger import Entry, ledger_entry, note
from shared.pipeline.links import FATED, note_link, speakers
from shared.pipeline.ours import turn
from shared.pipeline.planning import Reading, last_said
from shared.pipeline.records import (
    ContributionRecord,
    RunState,
    content_digest,
    contribution_key,
    packed_cell,
    unpacked_cell,
)
from shared.pipeline.settle import settle_run
from shared.pipeline.siblings import application, around
from shared.pipeline.states import Held
from shared.pipeline.stored_runs import noted
from shared.places import CONTRIBUTIONS, CONTROL, EVENTS, LEDGER, RUNS, STATE, StoredEvent, process_key
from shared.storage import Row, Storage
from shared.translation import naming_of, translate

_TRIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A process that an older naming named, what it is called now, and how many runs speak of it. Without a new name it
    stays as it is until a new run writes it: none of its events is stored any more, or it became several processes.
    """

    process: str
    old: str
    new: tuple[str, ...]
    runs: int

    @property
    def stays(self) -> bool:
        """Whether it cannot be moved."""
        return not self.new


def outdated(storage: Storage, names: Names) -> Iterator[Entry]:
    """The entries of processes whose names are of another naming, and that are in the catalog or have a word left."""
    for row in storage.scan(LEDGER):
        entry = Entry.of(row)
        if naming_of(entry.qualified_name) != names.version and (
            entry.state is not Held.NOTHING or last_said(storage, entry.process, Reading())
        ):
            yield entry


def moves(storage: Storage, names: Names) -> Iterator[Move]:
    """What an upgrade would move. Reads only."""
    for entry in outdated(storage, names):
        runs = _speakers(storage, entry.process)
        new = _destiny(storage, entry.process, runs, names)
        yield Move(
            process=entry.process,
            old=entry.qualified_name,
            new=tuple(each.qualified_name for each in new),
            runs=len(runs),
        )


def upgrade(storage: Storage, names: Names) -> Iterator[Move]:
    """Move what an older naming named, one process at a time, as it is asked for; the publisher is to do the rest.

    Raises StorageUnavailable, and Contended when a publisher does not let go or a run keeps changing.
    """
    _settle(storage, _at_hand(storage), names)
    for entry in outdated(storage, names):
        with turn(storage):  # so that a publisher sees the new process and the old one together
            runs = _speakers(storage, entry.process)
            new = _destiny(storage, entry.process, runs, names)
            _take_in_hand(storage, runs)
            _settle(storage, runs, names)
            if len(new) == 1:
                _rename_the_rest(storage, entry.process, new[0])
            if entry.retired:
                for each in new:
                    _stay_retired(storage, each.qualified_name, entry)
            mark_dirty(storage, {entry.process, *(process_key(each.qualified_name) for each in new)})
        yield Move(
            process=entry.process,
            old=entry.qualified_name,
            new=tuple(each.qualified_name for each in new),
            runs=len(runs),
        )
    storage.delete(CONTROL, "upgrade", "runs")


def _settle(storage: Storage, runs: Iterable[str], names: Names) -> None:
    for run in sorted(runs):
        if _can_be_settled(storage, run):
            settle_run(storage, run, names=names)


_decode_runs = msgspec.json.Decoder(list[str]).decode


def _at_hand(storage: Storage) -> list[str]:
    """The runs behind the process that the last upgrade moved: one of them may have been cut off in the middle, and no
    longer be among those that speak under the old name.
    """
    found = storage.read(CONTROL, "upgrade", "runs")
    return _decode_runs(unpacked_cell(storage, "runs", found)) if found else []


def _take_in_hand(storage: Storage, runs: Iterable[str]) -> None:
    row = Row(partition="upgrade", key="runs", values=packed_cell(storage, "runs", sorted(runs)))
    storage.upsert(CONTROL, row)


def _speakers(storage: Storage, process: str) -> set[str]:
    """The runs that speak of a process; with those of all that their applications say, where it counts only so."""
    runs: set[str] = set()
    for row in storage.partition(CONTRIBUTIONS, process):
        application_run, _, digest = row.key.partition("|")
        if digest == FATED:
            runs |= speakers(storage, application(storage, application_run))
        else:
            record = ContributionRecord.without_content(row)
            runs |= {run for run, word in record.supporters.items() if not word.withdrawn}
    return runs


def _can_be_settled(storage: Storage, run_id: str) -> bool:
    """Whether every event that was merged before is still stored."""
    state = _state(storage, run_id)
    if state is None or state.gone or not state.merged:
        return False
    return state.merged <= {event.digest for event in _stored(storage, run_id)}


def _state(storage: Storage, run_id: str) -> RunState | None:
    found = storage.read(RUNS, run_id, STATE)
    return RunState.of(found, storage) if found else None


def _stored(storage: Storage, run_id: str) -> Iterator[StoredEvent]:
    """The events of a run that are there: in the archive by its rows, else by one listing for each hour of it."""
    archived = {event.blob: event for each in archived_of(storage, run_id) for event in each.events}
    yield from archived.values()
    events = {event.blob: event for event in noted(storage, run_id).events if event.blob not in archived}
    for folder in sorted({blob.rpartition("/")[0] for blob in events}):
        for fact in storage.blobs(EVENTS, f"{folder}/"):
            if fact.name in events:
                yield events[fact.name]


def _destiny(storage: Storage, process: str, runs: Iterable[str], names: Names) -> tuple[Process, ...]:
    """What the process is called now, by what one of its runs says, the latest that still can: what it writes to the
    same data set. Reads only.
    """
    sinks = {
        content.outputs
        for row in storage.partition(CONTRIBUTIONS, process)
        if not row.key.endswith(f"|{FATED}")
        for content in (ContributionRecord.of(row, storage).content,)
        if content
    }
    states = [state for run in runs for state in (_state(storage, run),) if state and state.seen and not state.gone]
    for state in sorted(states, key=lambda each: (each.seen.last if each.seen else _NEVER, each.run_id), reverse=True):
        said = _says(storage, state, names)
        new = [each for each in said if each.outputs in sinks and each.operations] or list(said)[: len(said) == 1]
        if new:
            return tuple(new)
    return ()


_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def _says(storage: Storage, state: RunState, names: Names) -> tuple[Process, ...]:
    """What a run says by these names, settled by nobody."""
    bodies = []
    places = noted(storage, state.run_id).events
    for kept in kept_events(storage, state, places, archived_of(storage, state.run_id), {}):
        try:
            bodies += [decode(kept.raw())] if kept.place.digest in state.merged else []
        except (Refused, OSError, EOFError, zlib.error):
            continue  # a dead letter already: the rest of the run goes on without it
    if not bodies:
        return ()
    run = merge(bodies)
    heard = around(storage, run, application(storage, run.application_run), names)
    word = translate(run, heard, timed_out=state.timed_out)
    return word.processes if isinstance(word, Lineage) else ()


def _rename_the_rest(storage: Storage, old: str, new: Process) -> None:
    """What is still said under the old name, by runs that cannot be settled again, is said under the new one: first
    there, then no more here, so that it is never lost.
    """
    for row in storage.partition(CONTRIBUTIONS, old):
        record = None if row.key.endswith(f"|{FATED}") else ContributionRecord.of(row, storage)
        if record and record.contribution and record.content:
            content = structs.replace(record.content, qualified_name=new.qualified_name, name=new.name)
            note_link(storage, record.application_run, content)
            _say_there(storage, record, content)
            storage.delete(CONTRIBUTIONS, old, row.key, row.etag)


def _say_there(storage: Storage, record: ContributionRecord, content: Process) -> None:
    """Add the words of a record to what is said under the name of `content`."""
    place, digest = process_key(content.qualified_name), content_digest(content)
    for _ in range(_TRIES):
        found = storage.read(CONTRIBUTIONS, place, contribution_key(record.application_run, digest))
        if found is None:
            if storage.insert(
                CONTRIBUTIONS, replace(record, process=place, digest=digest, content=content).row(storage)
            ):
                return
            continue
        there = ContributionRecord.of(found, storage)
        words = {run: word for run, word in record.supporters.items() if not word.withdrawn}
        folded = [span for span in (there.folded, record.folded) if span]
        both = replace(
            there,
            content=content,
            supporters={**words, **there.supporters},
            folded=functools.reduce(operator.or_, folded) if folded else None,
        )
        if storage.replace(CONTRIBUTIONS, both.row(storage)):
            return
    raise Contended(f"What is said of {content.qualified_name} kept changing", after=2)


def _stay_retired(storage: Storage, qualified_name: str, old: Entry) -> None:
    """What was retired under its old name is retired under the new one."""
    for _ in range(_TRIES):
        entry = ledger_entry(storage, process_key(qualified_name))
        if entry.retired and old.retired and entry.retired >= old.retired:
            return
        named = entry.qualified_name or qualified_name
        if note(storage, replace(entry, qualified_name=named, retired=old.retired)):
            return
    raise Contended(f"The ledger's entry of {qualified_name} kept changing", after=2)
