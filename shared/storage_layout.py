"""Where everything lies: containers, tables, and the names of blobs and rows. One place for each fact.

    events/2026/11/21/13/{run}/{time}_{type}_{digest}.json.gz     one event as it was received
    ignored/2026/11/21/13/{reason}/{digest}.json.gz               one that no lineage can need, and why
    archive/2026/11/21/13/{batch}.jsonl.gz                        of closed runs, one a line (docs/reference/archive.md)
    archive/ignored/2026/11/21/13/{reason}/{batch}.jsonl.gz       ignored ones

    runs           {run}      event|{time}|{type}|{digest}        an event of the run
                   {run}      folded                              … and what many events of it came to
                   {run}      process|{process}                   the run is an application that wrote this process
                   {run}      application                         … and what its runs found out about it
                   {run}      batch|{time}|{run}                  … and a stream's batch that wrote nothing itself
                   {run}      unsourced|{time}|{run}              … and a write that names no source
                   {run}      lifecycle|{asset}|{state}           … and a data set that it dropped, renamed or emptied
                   {run}      archived|{hour}|{batch}             what of the run lies where in a file of the archive
                   {run}      state                               what became of the run
                   ignored|{hour}|{reason}  archived|{hour}|{batch}  the same of ignored events
    contributions  {process}  {application run}|{content}         what an application run says about the process
                   {process}  {application run}|~fates            what it says counts only with what it says of others
    dirty          process    {process}                           to be published anew, when due
    shadow         process    {process}                           what shadow mode keeps from the catalog
    assets         {asset}    state                               when it was dropped, renamed, emptied, made …
    ledger         {process}  catalog                             what the catalog holds of it
    found          asset      {asset}                             which asset of the catalog it is
    deadletters    event      {digest}                            what can never be used, and why
    control        checkpoint {work}                              how far a sweep, a replay, a rebuild … has come
    control        settings   functions                           the settings by which the functions publish
    control        retry      {run}                               a run that could not be processed, and how often
    control        retry      current                             the run that the sweep is processing
    refused        {day}      {time}|{digest}                     what the receiver refused, and why (not the body)

Names are made of the received bytes and the event's own time, so that the same event always lands in the same place.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.errors import Quarantined
from shared.openlineage.decoding import ENDS, Event
from shared.storage.port import Row, Storage

EVENTS = "events"
IGNORED = "ignored"
ARCHIVE = "archive"
CONTENTS = "contributions"

RUNS = "runs"
CONTRIBUTIONS = "contributions"
PUBLISH_QUEUE = "publishqueue"
LEDGER = "ledger"
SHADOW = "shadow"
ASSET_LIFECYCLE = "assetlifecycle"
ASSET_MATCHES = "assetmatches"
DEAD_LETTERS = "deadletters"
REFUSED = "refused"
CONTROL = "control"

APPLICATION = "application"
BATCH = "batch|"
LIFECYCLE = "lifecycle|"
UNSOURCED = "unsourced|"
CHECKPOINT = "checkpoint"
STATE = "state"
COMPACTED = "compacted"
CATALOG = "catalog"
QUEUE_PARTITION = "process"
ASSET_PARTITION = "asset"
QUEUED_ASSET = "asset|"
"""How the keys of those rows in `dirty` begin that stand for a data set."""

LONGEST_JOB_NAME = 1000
"""Characters of a job's name that stand in a row."""

_EVENT_BLOB = re.compile(
    r"\d{4}/\d\d/\d\d/\d\d/(?P<run>[0-9a-f-]{36})/(?P<time>\d{8}T\d{12}Z)_(?P<type>[A-Z]+)_(?P<digest>[0-9a-f]{32})\.json\.gz"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """What the name of an event's blob tells."""

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
        """The end it brings to its run, if any."""
        return self.type if self.type in ENDS else None


def stored(event: Event, digest: str) -> StoredEvent:
    """The place of a decoded event whose bytes have this digest."""
    return StoredEvent(run_id=event.run_id, time=event.time, type=event.type, digest=digest)


def stored_from_blob(name: str) -> StoredEvent:
    """The event of a blob's name within `events`. Raises Quarantined for a name that is none of ours."""
    found = _EVENT_BLOB.fullmatch(name)
    if not found:
        raise Quarantined(f"Not the name of an event: {name[:200]}")
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
"""How the keys of those rows in `runs` begin that tell what an application run has written."""


def process_refs_of(storage: Storage, application_run: str) -> Iterator[Row]:
    """The rows that tell what an application run has written, and the qualified name of each one's `sink`."""
    return storage.partition(RUNS, application_run, since=PROCESS_REF, before=f"{PROCESS_REF}~")


def processes_written_by(storage: Storage, application_run: str) -> set[str]:
    """The keys of the processes that an application run has written."""
    return {row.key.removeprefix(PROCESS_REF) for row in process_refs_of(storage, application_run)}


def ignored_blob(event: Event, digest: str, reason: str) -> str:
    """The name of an ignored event's blob in `ignored`."""
    return f"{event.time:%Y/%m/%d/%H}/{reason.replace(' ', '-')}/{digest}.json.gz"


_IGNORED_BLOB = re.compile(r"\d{4}/\d\d/\d\d/\d\d/[^/]+/[0-9a-f]{32}\.json\.gz")


def is_ignored_blob(name: str) -> bool:
    """Whether a name within `ignored` is one of ours."""
    return _IGNORED_BLOB.fullmatch(name) is not None


def reason_of_ignored(name: str) -> str:
    """Why the event of this blob in `ignored` was not kept."""
    return name.split("/")[-2].replace("-", " ")


def stamp(moment: datetime) -> str:
    """A time that sorts as text, in UTC, to the microsecond."""
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)
