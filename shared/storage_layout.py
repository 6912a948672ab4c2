"""The storage layout: containers, tables, and the names of blobs and rows. The one place for these names.

    events/2026/11/21/13/{run}/{time}_{type}_{digest}.json.gz     one event as it was received
    ignored/2026/11/21/13/{reason}/{digest}.json.gz               one that no lineage can need, and why
    archive/2026/11/21/13/{batch}.jsonl.gz                        events of closed runs, one a line
    archive/ignored/2026/11/21/13/{reason}/{batch}.jsonl.gz       ignored ones
    watch/{source}/{number}-{digest}.json.gz                      a state of lineage that messages are about

    table           partition  key
    runs            {run}      event|{time}|{type}|{digest}       an event of the run
                    {run}      compacted                          what many events of the run were merged to
                    {run}      state                              what became of the run
                    {run}      archived|{hour}|{batch}            which events are where in a file of the archive
                    ignored|{hour}|{reason}  archived|…           the same of ignored events
                    {run}      process|{process}                  the run is an application that wrote this process
                    {run}      application                        … and what its runs found out about it
                    {run}      batch|{time}|{run}                 … and a stream's batch that wrote nothing itself
                    {run}      unsourced|{time}|{run}             … and a write that names no source
                    {run}      lifecycle|{asset}|{state}          … and a data set that it dropped, renamed or emptied
    contributions   {process}  {application run}|{content}        what an application run contributes to the process
                    {process}  {application run}|~together        its contributions depend on those to others
    publishqueue    process    {process}                          to be published, when due; also asset|{asset}
    shadow          process    {process}                          what shadow mode does not write to the catalog
    ledger          {process}  catalog                            what the catalog holds of it
    assetlifecycle  {asset}    state                              when it was created, renamed, dropped …
    assetmatches    asset      {asset}                            which asset of the catalog it is
    attached        classification  {classification}              a classification that we attached to an entity
                    term       {term}                             a glossary term that we attached to one
    deadletters     event      {digest}                           an event that can't be used, and why
    control         checkpoint {work}                             how far a sweep, a replay, a rebuild … has come
                    settings   functions                          the settings by which the functions publish
                    versions   written                            the versions that wrote the stored data
                    archive    pending                            the batch that is being archived
                    trouble    {run}                              a run whose processing failed, and how often
                    trouble    at                                 the run that a sweep is processing
                    watch      {source}                           the state of lineage that was compared last
                    excluded   {data set}                         written by a job whose events the settings ignore
    refused         {day}      {time}|{digest}                    a request that the receiver refused, without its body
    watch           decided    {message}                          a message about a change: it is never decided again
                    open|{channel}  {time}|{message}              … that this channel has not taken yet
                    channel    {channel}                          when a channel is called again, after it failed

Names are made of the received bytes and the event's own time, so the same event is always stored at the same place.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.errors import Quarantined
from shared.openlineage.decoding import ENDS, Event

EVENTS = "events"
IGNORED = "ignored"
ARCHIVE = "archive"
CONTENTS = "contributions"
SNAPSHOTS = "watch"

RUNS = "runs"
CONTRIBUTIONS = "contributions"
PUBLISH_QUEUE = "publishqueue"
LEDGER = "ledger"
SHADOW = "shadow"
ASSET_LIFECYCLE = "assetlifecycle"
ASSET_MATCHES = "assetmatches"
DEAD_LETTERS = "deadletters"
REFUSED = "refused"
WATCH = "watch"
ATTACHED = "attached"
CONTROL = "control"

APPLICATION = "application"
BATCH = "batch|"
LIFECYCLE = "lifecycle|"
UNSOURCED = "unsourced|"
CHECKPOINT = "checkpoint"
EXCLUDED_WRITES = "excluded"
STATE = "state"
COMPACTED = "compacted"
CATALOG = "catalog"
QUEUE_PARTITION = "process"
ASSET_PARTITION = "asset"
ATTACHED_CLASSIFICATION = "classification"
ATTACHED_TERM = "term"
QUEUED_ASSET = "asset|"
"""Prefix of the keys in `publishqueue` that stand for a data set."""

RUN_TEXT = "run_text"
"""The cell of an event's row with the run's id as it was sent, where that is no UUID."""
LONGEST_JOB_NAME = 1000
"""Characters of a job's name that are kept in a row."""

_EVENT_BLOB = re.compile(
    r"\d{4}/\d\d/\d\d/\d\d/(?P<run>[0-9a-f-]{36})/(?P<time>\d{8}T\d{12}Z)_(?P<type>[A-Z]+)_(?P<digest>[0-9a-f]{32})\.json\.gz"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event as the name of its blob identifies it."""

    run_id: str
    time: datetime
    type: str
    digest: str

    @property
    def blob(self) -> str:
        """The name of its blob in `events`."""
        return f"{self.time:%Y/%m/%d/%H}/{self.run_id}/{stamp(self.time)}_{self.type}_{self.digest}.json.gz"

    @property
    def row_key(self) -> str:
        """The key of its row in `runs`."""
        return f"event|{stamp(self.time)}|{self.type}|{self.digest}"

    @property
    def end(self) -> str | None:
        """The terminal state that it brings to its run, if any."""
        return self.type if self.type in ENDS else None


def stored(event: Event, digest: str) -> StoredEvent:
    """The stored event of a decoded one whose bytes have this digest."""
    return StoredEvent(run_id=event.run_id, time=event.time, type=event.type, digest=digest)


def stored_from_blob(name: str) -> StoredEvent:
    """The event of a blob's name within `events`. Raises Quarantined for a name of another form."""
    found = event_of_blob(name)
    if found is None:
        raise Quarantined(f"Not the name of an event: {name[:200]}")
    return found


def event_of_blob(name: str) -> StoredEvent | None:
    """The event of a blob's name within `events`; None for a foreign name, which the sweeper makes a dead letter."""
    found = _EVENT_BLOB.fullmatch(name)
    if not found:
        return None
    return StoredEvent(run_id=found["run"], time=_moment(found["time"]), type=found["type"], digest=found["digest"])


def stored_from_row(partition: str, key: str) -> StoredEvent | None:
    """The event of a row in `runs`; None for rows that are no events."""
    kind, *parts = key.split("|")
    if kind != "event":
        return None
    return StoredEvent(run_id=partition, time=_moment(parts[0]), type=parts[1], digest=parts[2])


def digest_of(data: bytes) -> str:
    """32 hexadecimal digits that stand for these bytes."""
    return hashlib.sha256(data).hexdigest()[:32]


def process_key(qualified_name: str) -> str:
    """The key of a process in all tables: safe for any name."""
    return digest_of(qualified_name.encode())


PROCESS_REF = "process|"
"""Prefix of the keys in `runs` of the processes that an application run has written."""


def ignored_blob(event: Event, digest: str, reason: str) -> str:
    """The name of an ignored event's blob in `ignored`."""
    return f"{event.time:%Y/%m/%d/%H}/{reason.replace(' ', '-')}/{digest}.json.gz"


_IGNORED_BLOB = re.compile(r"\d{4}/\d\d/\d\d/\d\d/[^/]+/[0-9a-f]{32}\.json\.gz")


def is_ignored_blob(name: str) -> bool:
    """Whether a name within `ignored` has the form of an ignored event's."""
    return _IGNORED_BLOB.fullmatch(name) is not None


def digest_in_ignored(name: str) -> str:
    """The digest of the event of this blob in `ignored`."""
    return name.rpartition("/")[2].partition(".")[0]


def reason_of_ignored(name: str) -> str:
    """Why the event of this blob in `ignored` was not kept."""
    return name.split("/")[-2].replace("-", " ")


def stamp(moment: datetime) -> str:
    """A time that sorts as text, in UTC, to the microsecond."""
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")


_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})Z")


def _moment(text: str) -> datetime:
    """The time of a `stamp`, in a quarter of the time of `strptime`. Raises ValueError for other texts."""
    found = _STAMP.fullmatch(text)
    if not found:
        raise ValueError(f"Not a time stamp: {text[:50]}")
    year, month, day, hour, minute, second, micro = map(int, found.groups())
    return datetime(year, month, day, hour, minute, second, micro, UTC)
