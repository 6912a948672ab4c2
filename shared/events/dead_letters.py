"""Dead letters: events that were kept but can't be used, each with the reason, the count and the times.

    met ──> dead ──replayed, and used──> gone
             │ └─replayed, not used──> dead, with a higher count
             └─discarded──> discarded ──replayed, and used──> gone

A letter is one row; the event's blob stays in its place. A letter is deleted only after its event was used, and only if
it was not updated meanwhile, so a crash at any point loses none.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.errors import GivenUp, Quarantined, Refused
from shared.events.archive import DAMAGED, job_in_archive
from shared.records.cells import cells_of, record_of
from shared.secrets import text_without_secrets
from shared.storage.port import Row, RowAddress, Storage, Swapped, compare_and_swap
from shared.storage_layout import APPLICATIONS, DEAD_LETTERS, StoredEvent, event_of_blob
from shared.telemetry.port import LETTER, SILENT, Telemetry

DISCARDED = "discarded"
"""Why an event is skipped whose dead letter was discarded."""

FOREIGN = "foreign name"
GIVEN_UP = "given up"
UNUSABLE = "unusable run"

_PARTITION = "event"
LONGEST_ERROR = 1000
_AFTER_HEXADECIMAL = "g"

_REASONS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((Quarantined,), FOREIGN),
    ((GivenUp,), GIVEN_UP),
    ((Refused,), "unreadable event"),
    (DAMAGED, "damaged bytes"),
    ((Exception,), UNUSABLE),
)
"""By the class of the exception; the first row that fits decides. The last row: merging or translating failed on an
event that no rule foresees.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An event that can't be used: `reason` is the kind of problem, `error` has the details.

    `digest` is the event's, or that of the blob's name where this is none of ours; it is the letter's id. `job` is
    empty if unknown. `count`: how often it was met, between `first` and `last`.
    """

    digest: str
    blob: str
    reason: str
    error: str
    first: datetime
    last: datetime
    count: int = 1
    job: str = ""
    discarded: datetime | None = None
    etag: str = ""

    @property
    def place(self) -> StoredEvent | None:
        """The event by its blob's name; None for a foreign name."""
        return event_of_blob(self.blob)

    def row(self) -> Row:
        """As a row of `deadletters`."""
        values = cells_of(self, omitted=("digest",))
        return Row(partition=_PARTITION, key=self.digest, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row) -> "DeadLetter":
        """From a row of `deadletters`."""
        return record_of(cls, row, digest=row.key)


def dead_letters(storage: Storage, prefix: str = "") -> Iterator[DeadLetter]:
    """All dead letters whose ids start with `prefix`, by id: also those that were discarded."""
    end_key = f"{prefix}{_AFTER_HEXADECIMAL}" if prefix else ""
    return (DeadLetter.of(row) for row in storage.partition(DEAD_LETTERS, _PARTITION, since=prefix, before=end_key))


def dead_letter(storage: Storage, digest: str) -> DeadLetter | None:
    """The dead letter with this id, if there is one."""
    row = storage.read(DEAD_LETTERS, _PARTITION, digest)
    return DeadLetter.of(row) if row else None


def add_dead_letter(storage: Storage, blob: str, digest: str, error: Exception, telemetry: Telemetry = SILENT) -> None:
    """Put an event on record that can't be used, and report it; one that is on record is counted once more and stays as
    it is, dead or discarded. Its blob stays where it is. Raises WriteConflict when others keep changing the letter.

    A foreign name is noted once: each sweep meets it, and nothing can come of that.
    """
    now, text = datetime.now(UTC), text_without_secrets(f"{type(error).__name__}: {error}")
    reason = next(reason for kinds, reason in _REASONS if isinstance(error, kinds))
    letter = DeadLetter(digest=digest, blob=blob, reason=reason, error=text[:LONGEST_ERROR], first=now, last=now)

    def change(previous_letter: DeadLetter | None) -> DeadLetter:
        if previous_letter is None:
            return replace(letter, job=_job(storage, letter.place))
        return previous_letter if reason == FOREIGN else _counted(previous_letter, letter)

    if _change(storage, digest, change).before is None:
        run = (letter.place.run_id,) if letter.place else ()
        telemetry.report(LETTER, *run, state="dead", blob=blob, reason=f"{type(error).__name__}: {error}")


def count_again(storage: Storage, previous_letter: DeadLetter, now: DeadLetter) -> bool:
    """Update a letter that was met once more (`now`). False if another worker has changed it since it was read."""
    return storage.replace(DEAD_LETTERS, _counted(previous_letter, now).row()) is not None


def put_letter(storage: Storage, letter: DeadLetter) -> None:
    """Put a letter on record that was made elsewhere, or count that it was met again."""
    previous_letter = dead_letter(storage, letter.digest)
    if previous_letter:
        count_again(storage, previous_letter, letter)
    else:
        storage.insert(DEAD_LETTERS, letter.row())


def _counted(previous_letter: DeadLetter, now: DeadLetter) -> DeadLetter:
    return replace(previous_letter, reason=now.reason, error=now.error, last=now.last, count=previous_letter.count + 1)


def _change(
    storage: Storage, digest: str, change: Callable[[DeadLetter | None], DeadLetter | None]
) -> Swapped[DeadLetter]:
    place = RowAddress(DEAD_LETTERS, _PARTITION, digest)
    return compare_and_swap(storage, place, change, decode=DeadLetter.of, encode=DeadLetter.row)


def discard(storage: Storage, digest: str) -> DeadLetter | None:
    """Have an event that can't be used count as skipped from now on; its blob stays. Doing so again changes nothing.

    The letter as it is then; None when it has left meanwhile. Raises WriteConflict when others keep changing it.
    """

    def change(letter: DeadLetter | None) -> DeadLetter | None:
        return replace(letter, discarded=datetime.now(UTC)) if letter and not letter.discarded else letter

    swapped = _change(storage, digest, change)
    return swapped.after and replace(swapped.after, etag=swapped.etag)


def delete_letter(storage: Storage, letter: DeadLetter) -> bool:
    """Delete a letter whose event was used. False, and it stays, when it was met again since it was read."""
    return storage.delete(DEAD_LETTERS, _PARTITION, letter.digest, letter.etag)


def withdraw_letters(storage: Storage, digests: Iterable[str]) -> None:
    """Delete the letters of events whose run could not be used, and can be now."""
    for letter in filter(None, (dead_letter(storage, digest) for digest in digests)):
        if letter.reason == UNUSABLE:
            delete_letter(storage, letter)


def _job(storage: Storage, place: StoredEvent | None) -> str:
    """The job's name as the receiver noted it: the event itself may not be readable."""
    event_row = storage.read(APPLICATIONS, place.application, place.row_key) if place else None
    return str(event_row.values.get("job", "")) if event_row else job_in_archive(storage, place) if place else ""
