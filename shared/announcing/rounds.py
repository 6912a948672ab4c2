"""A round of the watch: take a snapshot of lineage if it is due, decide messages, deliver open ones.

A lease lets one worker work at a time. Correctness does not depend on it (`outbox.py`).
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta

from shared.announcing.delivery import Outcome, Round, Sender
from shared.announcing.outbox import Standing, begin, decide, end, note_look, standing
from shared.announcing.recorded_state import Gates, no_gates, recorded_snapshot
from shared.concurrency import ParallelMap
from shared.errors import CatalogUnavailable, Retry
from shared.publishing.context import PublishOptions
from shared.storage.port import LeaseSession, Storage, session_of
from shared.storage_layout import SNAPSHOTS
from shared.telemetry.port import Fact
from shared.watching.comparing.snapshot import Snapshot, UnreadableSnapshotError, packed, unpacked
from shared.watching.messages import Message, messages
from shared.watching.rules import WatchRules

_LOG = logging.getLogger("throughline.watch")
_LEASE = "watch"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """How to watch.

    - `rules`: route messages. `senders`: the open channels by name.
    - `every`: the time between two snapshots of lineage.
    - `source`: the compared state, `record` or `lake`. `gates`: the policies.
    - `now`: the clock. `seconds`: a monotonic clock. `parallel`: channels at a time.
    """

    rules: WatchRules
    senders: Mapping[str, Sender]
    every: timedelta = timedelta(minutes=15)
    source: str = "record"
    gates: Gates = no_gates
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    seconds: Callable[[], float] = time.monotonic
    parallel: ParallelMap = field(default_factory=ParallelMap)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The result of a round: whether it looked at lineage, and the numbers of messages decided, sent, refused, kept for
    quiet hours, kept for the version that wrote them, and of failed channels.
    """

    looked: bool = False
    decided: int = 0
    sent: int = 0
    refused: int = 0
    failed: int = 0
    quiet: int = 0
    other_version: int = 0

    @property
    def facts(self) -> dict[str, Fact]:
        """As facts of telemetry."""
        return {f"watch_{name}": value for name, value in asdict(self).items()}


def watch(
    storage: Storage, options: WatchOptions, look: Callable[[], Snapshot], *, at_once: bool = False
) -> Watched | None:
    """Do one round; None if another worker does one. `look` gives the state of lineage. `at_once`: take a snapshot now,
    due or not.

    Raises StorageUnavailable; the next round continues.
    """
    with session_of(storage, _LEASE, options.seconds) as session:
        return _watch(storage, options, look, session, at_once=at_once) if session else None


def watch_due(storage: Storage, options: WatchOptions | None, publishing: PublishOptions) -> dict[str, Fact]:
    """A round over the record for the sweeper: its facts for telemetry, none without options. Failures are logged and
    do not fail the sweep; the next sweep tries again.
    """
    if options is None:
        return {}
    try:
        with_foreign = options.rules.foreign_lineage
        watched = watch(
            storage,
            options,
            lambda: recorded_snapshot(storage, publishing, options.gates, with_foreign=with_foreign),
        )
    except Retry as error:
        _LOG.warning("the watch was put off error=%s", type(error).__name__)
        return {}
    return watched.facts if watched else {}


def pending_messages(storage: Storage, source: str, now: Snapshot, moment: datetime) -> tuple[Message, ...]:
    """The messages that a comparison with this snapshot would decide; none without an earlier one. Writes nothing."""
    standing_state = standing(storage, source)
    snapshot_before = _snapshot(storage, standing_state.announced)
    return messages(snapshot_before, now, comparison="plan", now=moment) if snapshot_before else ()


def _watch(
    storage: Storage, options: WatchOptions, look: Callable[[], Snapshot], session: LeaseSession, *, at_once: bool
) -> Watched:
    now = options.now()
    standing_state = standing(storage, options.source)
    number, looked = 0, False
    current: Standing | None = standing_state
    if standing_state.pending:
        number, current = _finish(storage, standing_state, options, session)
    if current and (at_once or current.looked is None or now - current.looked >= options.every):
        data = _look(look)
        looked = data is not None
        if data is None:
            pass  # the next round tries again; what is decided is delivered all the same
        elif current.same(data):
            note_look(storage, current, now)
        elif begun_standing := begin(storage, current, data, now):
            number_sent, _ = _finish(storage, begun_standing, options, session)
            number += number_sent
    delivery = Round(
        storage=storage,
        senders=options.senders,
        rules=options.rules,
        now=options.now(),
        may_continue=session.may_continue,
    )
    outcomes = delivery.deliver(options.parallel)
    return Watched(looked=looked, decided=number, **{outcome.value: outcomes[outcome] for outcome in Outcome})


def _look(look: Callable[[], Snapshot]) -> bytes | None:
    """The packed state of lineage; None if a gate needs a catalog that does not answer."""
    try:
        return packed(look())
    except CatalogUnavailable as error:
        _LOG.warning("lineage is looked at later: a policy asks for the catalog's classifications: %s", error)
        return None


def _finish(
    storage: Storage, standing_state: Standing, options: WatchOptions, session: LeaseSession
) -> tuple[int, Standing | None]:
    """Decide the messages of a comparison that was begun, and close it. Returns the number of new messages, and the
    standing after it (None if another worker closed it).
    """
    snapshot_before, snapshot_after = (
        _snapshot(storage, standing_state.announced),
        _snapshot(storage, standing_state.pending),
    )
    number = 0
    if snapshot_before and snapshot_after:
        for message in messages(snapshot_before, snapshot_after, comparison=standing_state.pending, now=options.now()):
            session.may_continue()  # renews the lease; a comparison that was begun is finished
            number += decide(storage, message, options.rules.channels_for(message))
    return number, end(storage, standing_state)


def _snapshot(storage: Storage, name: str) -> Snapshot | None:
    """A stored state; None if there is none, another worker removed it, or another version wrote it."""
    data = storage.get(SNAPSHOTS, name) if name else None
    try:
        return unpacked(data) if data else None
    except UnreadableSnapshotError as error:
        _LOG.warning("the state before is not comparable, so nothing is announced about it: %s", error)
        return None
