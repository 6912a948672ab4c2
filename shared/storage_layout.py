"""The storage layout: containers, tables, and the names of blobs and rows. The one place for these names.

    events/2026/11/21/13/{application}/{run}/{time}_{type}_{digest}.json.gz     one event as it was received
    ignored/2026/11/21/13/{reason}/{digest}.json.gz               one that no lineage can need, and why
    archive/2026/11/21/13/{batch}.jsonl.gz                        events of closed runs, one a line
    archive/2026/11/21/13/{batch}.index.json.gz                   … which runs and events, where they begin, states
    archive/ignored/2026/11/21/13/{reason}/{batch}.jsonl.gz       ignored ones
    watch/{source}/{number}-{digest}.json.gz                      a state of lineage that messages are about
    published/newest/{time}-{digest}.json.gz                      the lineage document; the greatest name counts
    published/daily/{day}.json.gz                                 the last one of a day
    published/parts/{time}.msgpack.gz                             what the newest one was made of

    table           partition      key
    applications    {application}  !header                        the application's version and state
                    {application}  event|{run}|{time}|{type}|{digest}   an event that is not folded yet
                    {application}  run|{run}                      what became of a run
                    {application}  state|{number}                 a part of a state that is too long for the header
    processes       {process}      catalog                        what the catalog holds of it
                    {process}      {application}                  what an application contributes to it
    publishqueue    process        mark|{kind}|{target}|{application}|{version}   an application has changed: look at it
                    process        {process}                      when the publisher looks again; also asset|{asset}
                    forward        mark|forward|{run}|…           lineage of a run has changed: forward it
    assets          asset          {asset}                        which asset of the catalog a data set is, its state
    counts          event          {batch}                        the states of the events in a file of the archive
    shadow          process        {process}                      what shadow mode does not write to the catalog
    attached        classification  {classification}              a classification that we attached to an entity
                    term           {term}                         a glossary term that we attached to one
    deadletters     event          {digest}                       an event that can't be used, and why
    forward         {target}       open|{time}|{run}              a run that a target has not taken yet, since when due
                    {target}       run|{run}                      which content of a run a target has
                    {target}       dead|{run}                     a run that a target refuses, and why
                    {target}       !pause                         when a target is called again, after it failed
    control         checkpoint     {work}                         how far a sweep, a replay … has come
                    open           {application}                  an application with something to decide, and when
                    settings       functions                      the settings by which the functions publish
                    versions       written                        the versions that wrote the stored data
                    archive        pending                        the batch that is being archived
                    retry          {application}                  an application that could not be folded, and how often
                    watch          {source}                       the state of lineage that was compared last
    refused         {day}          {time}|{digest}                a request that the receiver refused, without its body
    excluded        write          {data set}                     written by a job whose events the settings ignore
    watch           outbox         message|{message}              a message about a change: it is never decided again
                    outbox         open|{channel}|{time}|{message}   … that this channel has not taken yet
                    outbox         refused|{channel}|{message}    … that it never will, and why
                    outbox         pause|{channel}                when a channel is called again, after it failed

Names are made of the received bytes and the event's own time, so the same event is always stored at the same place.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

from shared.errors import Quarantined
from shared.openlineage.decoding import ENDS, Event
from shared.storage.port import Row, Value

EVENTS = "events"
IGNORED = "ignored"
ARCHIVE = "archive"
CONTENTS = "contributions"
SNAPSHOTS = "watch"
PUBLISHED = "published"
NEWEST, DAILY, PARTS, FOREIGN = "newest/", "daily/", "parts/", "foreign/"
"""The folders of `published`."""

APPLICATIONS = "applications"
PROCESSES = "processes"
PUBLISH_QUEUE = "publishqueue"
ASSETS = "assets"
COUNTS = "counts"
SHADOW = "shadow"
DEAD_LETTERS = "deadletters"
REFUSED = "refused"
EXCLUDED = "excluded"
WATCH = "watch"
ATTACHED = "attached"
FORWARD = "forward"
CONTROL = "control"

HEADER = "!header"
EVENT = "event|"
RUN = "run|"
STATE_PART = "state|"
"""How the keys of an application's rows begin, in this order: one query up to RUN gives the header and what is not
folded yet.
"""

CHECKPOINT = "checkpoint"
CATALOG = "catalog"
QUEUE_PARTITION = "process"
FORWARD_PARTITION = "forward"
ASSET_PARTITION = "asset"
OUTBOX_PARTITION = "outbox"
ATTACHED_CLASSIFICATION = "classification"
ATTACHED_TERM = "term"
EXCLUDED_WRITE = "write"
QUEUED_ASSET = "asset|"
"""Prefix of the keys in `publishqueue` that stand for a data set."""

LONGEST_JOB_NAME = 1000
"""Characters of a job's name that are kept in a row."""

_EVENT_BLOB = re.compile(
    r"\d{4}/\d\d/\d\d/\d\d/(?P<application>[0-9a-f-]{36})/(?P<run>[0-9a-f-]{36})"
    r"/(?P<time>\d{8}T\d{12}Z)_(?P<type>[A-Z]+)_(?P<digest>[0-9a-f]{32})\.json\.gz"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event as the name of its blob identifies it. `application`: the application run that the event names."""

    application: str
    run_id: str
    time: datetime
    type: str
    digest: str

    @property
    def blob(self) -> str:
        """The name of its blob in `events`."""
        return f"{self.folder}/{stamp(self.time)}_{self.type}_{self.digest}.json.gz"

    @property
    def folder(self) -> str:
        """The folder of its blob: the hour, the application and the run."""
        return f"{self.time:%Y/%m/%d/%H}/{self.application}/{self.run_id}"

    @property
    def row_key(self) -> str:
        """The key of its row in `applications`, until it is folded."""
        return f"{EVENT}{self.run_id}|{stamp(self.time)}|{self.type}|{self.digest}"

    @property
    def reference(self) -> str:
        """How the record of its run refers to it."""
        return f"{stamp(self.time)}|{self.type}|{self.digest}|{self.application}"

    @property
    def end(self) -> str | None:
        """The terminal state that it brings to its run, if any."""
        return self.type if self.type in ENDS else None


def stored(event: Event, digest: str) -> StoredEvent:
    """The stored event of a decoded one whose bytes have this digest."""
    parent = event.body.run.facets.parent if event.body and event.body.run.facets else None
    return StoredEvent(
        application=parent.run.run_id.lower() if parent else event.run_id,
        run_id=event.run_id,
        time=event.time,
        type=event.type,
        digest=digest,
    )


def stored_from_blob(name: str) -> StoredEvent:
    """The event of a blob's name within `events`. Raises Quarantined for a name of another form."""
    stored_event = event_of_blob(name)
    if stored_event is None:
        raise Quarantined(f"Not the name of an event: {name[:200]}")
    return stored_event


def event_of_blob(name: str) -> StoredEvent | None:
    """The event of a blob's name within `events`; None for a foreign name, which the sweeper makes a dead letter."""
    match = _EVENT_BLOB.fullmatch(name)
    if not match:
        return None
    return StoredEvent(
        application=match["application"],
        run_id=match["run"],
        time=moment(match["time"]),
        type=match["type"],
        digest=match["digest"],
    )


def event_of_row_key(key: str, application: str) -> StoredEvent:
    """The event of a row in `applications`. `application`: the one that the event names."""
    run_id, time, kind, digest = key.removeprefix(EVENT).split("|")
    return StoredEvent(application=application, run_id=run_id, time=moment(time), type=kind, digest=digest)


def event_of_reference(run_id: str, reference: str) -> StoredEvent:
    """The event to which the record of a run refers."""
    time, kind, digest, application = reference.split("|")
    return StoredEvent(application=application, run_id=run_id, time=moment(time), type=kind, digest=digest)


def digest_in_reference(reference: str) -> str:
    """The digest of the event to which the record of a run refers."""
    return reference.split("|", 3)[2]


def digest_of(data: bytes) -> str:
    """32 hexadecimal digits that stand for these bytes."""
    return hashlib.sha256(data).hexdigest()[:32]


def process_key(qualified_name: str) -> str:
    """The key of a process in all tables: safe for any name."""
    return digest_of(qualified_name.encode())


def asset_key(asset: tuple[str, str]) -> str:
    """The key of a data set (type and qualified name) in all tables."""
    return digest_of("|".join(asset).encode())


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


def daily_document(day: date, base: date | None = None) -> str:
    """The name of the blob in `published` with the last lineage document of a day, or with its difference from that of
    the day `base`.
    """
    return f"{DAILY}{day:%Y-%m-%d}{f'.since-{base:%Y-%m-%d}' if base else ''}.json.gz"


_DAILY = re.compile(DAILY + r"(\d{4}-\d\d-\d\d)(?:\.since-(\d{4}-\d\d-\d\d))?\.json\.gz")


def day_of_document(name: str) -> tuple[date, date | None] | None:
    """The day of such a blob, and that of its base; None for another name."""
    match = _DAILY.fullmatch(name)
    return (date.fromisoformat(match[1]), date.fromisoformat(match[2]) if match[2] else None) if match else None


_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})Z")


def moment(text: str) -> datetime:
    """The time of a `stamp`, in a quarter of the time of `strptime`. Raises ValueError for other texts."""
    match = _STAMP.fullmatch(text)
    if not match:
        raise ValueError(f"Not a time stamp: {text[:50]}")
    year, month, day, hour, minute, second, micro = map(int, match.groups())
    return datetime(year, month, day, hour, minute, second, micro, UTC)


MAX_INLINE = 48 * 1024
"""Bytes of a compressed event that stands in its row; a longer one is read from its blob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """A row of an event that is not folded yet. `payload`: the compressed event, where it is short.

    As the receiver noted them: the name and the namespace (`sender`) of its job; the run's id as it was sent where that
    is no UUID (`run_text`); the parts of it that can't be used, and that a redacted event no longer has (`omitted`);
    when it was `received`.
    """

    event: StoredEvent
    payload: bytes | None = None
    job: str = ""
    sender: str = ""
    run_text: str = ""
    omitted: tuple[str, ...] = ()
    received: datetime | None = None

    def row(self, application: str) -> Row:
        """As a row of this application's partition."""
        omitted = "\n".join(self.omitted)
        texts = {"job": self.job, "sender": self.sender, "run_text": self.run_text, "omitted": omitted}
        values: dict[str, Value] = {name: text[:LONGEST_JOB_NAME] for name, text in texts.items() if text}
        if self.received:
            values["received"] = self.received.isoformat()
        if self.payload is not None and len(self.payload) <= MAX_INLINE:
            values["packed"] = self.payload
        if self.event.application != application:
            values["named"] = self.event.application
        return Row(partition=application, key=self.event.row_key, values=values)

    @classmethod
    def of(cls, row: Row) -> "EventRow":
        """From a row of `applications`."""
        payload, arrival = row.values.get("packed"), row.values.get("received")
        return cls(
            event=event_of_row_key(row.key, str(row.values.get("named", row.partition))),
            payload=payload if isinstance(payload, bytes) else None,
            job=str(row.values.get("job", "")),
            sender=str(row.values.get("sender", "")),
            run_text=str(row.values.get("run_text", "")),
            omitted=tuple(str(row.values.get("omitted", "")).splitlines()),
            received=datetime.fromisoformat(str(arrival)) if arrival else None,
        )
