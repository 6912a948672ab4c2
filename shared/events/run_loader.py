"""Load all that is stored of a run for processing: each event once, from `events` and from the archive."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from shared.errors import Refused
from shared.events.archive_format import DAMAGED
from shared.events.archive_index import Archived, Kept, kept_events
from shared.events.blob_cache import PackedEvents
from shared.events.compaction import CompactedEvents, compact, compacted_of
from shared.events.dead_letters import note_letter, report_dead_letter
from shared.events.run_rows import RunRows
from shared.openlineage.decoding import Event, decode
from shared.records.run_state import RunState
from shared.storage.port import Storage
from shared.storage_layout import EVENTS, RUNS, StoredEvent, digest_of
from shared.telemetry.port import SILENT, Telemetry
from shared.translation.application.context import RunContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """All that is stored of a run: its state, the events that count and where they lie, the processes that it wrote,
    and when the last of its events arrived.
    """

    state: RunState
    events: tuple[Event, ...]
    places: tuple[StoredEvent, ...]
    written: tuple[str, ...]
    arrived: datetime | None

    @property
    def merged(self) -> frozenset[str]:
        """The digests of the events."""
        return frozenset(place.digest for place in self.places)

    def is_settled_with(self, context: RunContext) -> bool:
        """Whether nothing is new: another worker has processed it with the same context."""
        return (
            self.state.settled
            and self.state.merged == self.merged
            and self.state.context_digest == context_digest(context)
        )


def context_digest(context: RunContext) -> str:
    """The digest of a run's context."""
    return digest_of(msgspec.json.encode((context.facts, context.batches)))


def gather(storage: Storage, run_id: str, known: PackedEvents, telemetry: Telemetry) -> Gathered:
    """All that is stored of a run; what can't be used becomes a dead letter. `known` holds blobs by digest.

    Raises ArchiveMissing where a file of the archive is not there.
    """
    rows = RunRows.of(run_id, storage.partition(RUNS, run_id))

    def read(place: StoredEvent) -> Event | None:
        packed = known.get(place.digest) or storage.get(EVENTS, place.blob)
        try:
            return decode(Kept(place=place, packed=packed).raw()) if packed else None
        except (Refused, *DAMAGED):
            return None  # it stays fresh, so it is met again below, where it becomes a dead letter

    state = RunState.of(rows.state, storage) if rows.state else RunState(run_id=run_id)
    compacted = CompactedEvents()
    if state.closed is None:  # else the archive has its events
        compacted = compacted_of(rows.compacted, storage) if rows.compacted else compacted
        fresh = [place for place in rows.events if place.digest not in compacted.digests]
        compacted = compact(storage, run_id, compacted, fresh, read)
    places = [place for place in rows.events if place.digest in compacted.digests]
    others = [place for place in rows.events if place.digest not in compacted.digests]
    archived = [Archived.of(row, storage) for row in rows.archived]
    events = list(compacted.events)
    for kept in kept_events(storage, state, others, archived, known):
        places.append(kept.place)
        event = readable(storage, kept, telemetry)
        if event:
            events.append(event)
    arrived = max((str(row.values.get("received", "")) for row in rows.events.values()), default="")
    return Gathered(
        state=state,
        events=tuple(events),
        places=tuple(places),
        written=tuple(rows.processes),
        arrived=datetime.fromisoformat(arrived) if arrived else None,
    )


def readable(storage: Storage, kept: Kept, telemetry: Telemetry) -> Event | None:
    """The event; None, and a dead letter, when the stored bytes cannot be used. The rest of the run goes on."""
    try:
        event = decode(kept.raw())
    except (Refused, *DAMAGED) as error:
        add_dead_letter(storage, kept.place.blob, kept.place.digest, error, telemetry)
        return None
    return event


def add_dead_letter(storage: Storage, blob: str, digest: str, error: Exception, telemetry: Telemetry = SILENT) -> None:
    """Put a dead letter on record, or count that it was met again: the blob stays where it is."""
    if note_letter(storage, blob, digest, error):
        report_dead_letter(telemetry, blob, error)
