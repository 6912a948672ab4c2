"""Planning: what one dirty process should be in the catalog now, from all that is on record. Reads only."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from shared.atlas import ProcessEntity, process_entity
from shared.model import ApplicationFacts, Asset, Contribution, Process
from shared.pipeline.dirty import Dirty
from shared.pipeline.ledger import Entry, ledger_entry
from shared.pipeline.places import CONTRIBUTIONS, LEDGER, RUNS, STATE, stored_from_row
from shared.pipeline.records import ContributionRecord, RunState
from shared.storage import Storage
from shared.translation import Patience, Sum, add_up


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """How to publish.

    `batch`: entities in one call; `call_bound`: after what time a call is certainly over; `with_indirect`: whether
    columns that only decide are shown; `pause`: how long a catalog that is away is left alone; `now`: the clock.
    """

    batch: int = 50
    call_bound: timedelta = timedelta(seconds=120)
    with_indirect: bool = False
    patience: Patience = field(default_factory=Patience)
    pause: timedelta = timedelta(seconds=15)
    now: Callable[[], datetime] = _utc_now


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to happen to one dirty process: `entity` is None when the catalog should hold nothing."""

    dirty: Dirty
    entry: Entry
    entity: ProcessEntity | None
    assets: tuple[Asset, ...] = ()
    revisit: datetime | None = None

    @property
    def unchanged(self) -> bool:
        """Whether the catalog holds it already."""
        if self.entity is None:
            return self.entry.state == "nothing"
        return self.entry.state == "written" and self.entry.fingerprint == self.entity.fingerprint


def current(storage: Storage, process: str, how: Publishing) -> Sum:
    """A process (by key) as it should be now, added up from all that is on record of it."""
    contributions = tuple(_contributions(storage, process))
    runs = sorted({each.application_run for each in contributions})
    times = [each.seen.last for each in contributions]
    alone = len(runs) <= 1 and (not times or max(times) - min(times) <= how.patience.unseen)
    facts = {} if alone else {run: _facts(storage, run) for run in runs}  # alone, nothing can leave whatever they say
    return add_up(contributions, facts, now=how.now(), patience=how.patience)


def recorded(storage: Storage, how: Publishing) -> Iterator[tuple[Process, ProcessEntity]]:
    """Every process on our record as it should be now, with the entity that the catalog should hold of it."""
    for row in storage.scan(LEDGER):
        process = current(storage, row.partition, how).process
        if process:
            yield process, process_entity(process, with_indirect=how.with_indirect)


def plan_for(storage: Storage, how: Publishing, dirty: Dirty) -> Plan:
    """The plan for a dirty process. The ledger is read first: what is planned is never older than what it says."""
    entry = ledger_entry(storage, dirty.process)
    total = current(storage, dirty.process, how)
    process = total.process
    return Plan(
        dirty=dirty,
        entry=entry,
        entity=process_entity(process, with_indirect=how.with_indirect) if process else None,
        assets=(*process.inputs, *process.outputs) if process else (),
        revisit=total.revisit,
    )


def _contributions(storage: Storage, process: str) -> Iterable[Contribution]:
    for row in storage.partition(CONTRIBUTIONS, process):
        contribution = ContributionRecord.of(row, storage).contribution
        if contribution:
            yield contribution


def _facts(storage: Storage, application_run: str) -> ApplicationFacts:
    """What is stored of an application run's own events: a point read once it has ended. Needed only where several
    application runs contributed to a process.
    """
    found = storage.read(RUNS, application_run, STATE)
    state = RunState.of(found) if found else None
    if state and state.settled and state.seen:
        return ApplicationFacts(first=state.seen.first, last=state.seen.last, ended=state.end)
    rows = (stored_from_row(application_run, row.key) for row in storage.partition(RUNS, application_run))
    times = [place.time for place in rows if place]
    return ApplicationFacts(
        first=min(times, default=None), last=max(times, default=None), ended=state.end if state else None
    )
