"""The error tree: each class says what becomes of the event that met it.

    ThroughlineError
    |-- Refused             the sender's fault: answered with a 4xx, nothing is stored
    |   |-- TooLarge        413
    |   `-- Unreadable      400: empty, not UTF-8, not JSON, wrong types, too deep
    |-- Quarantined         this event can never be used: a dead letter, everything else goes on
    |-- GivenUp             its run could not be settled again and again: a dead letter until that works after all
    |-- Retry               not now: storage or catalog are away; the host (or the sender) tries again
    |   |-- StorageUnavailable
    |   |   |-- StorageBusy asks us to slow down: the one thing that a sender is told by a 429
    |   |   `-- StorageForbidden refuses our identity or our network, until somebody changes that
    |   |-- CatalogUnavailable
    |   |-- WriteConflict   another worker changed the same row: start over
    |   |   `-- Superseded  a newer worker processes the same run: it wins
    |   `-- ContentLost     a row names a blob that is gone: `throughline verify --fix` writes it anew
    |-- CatalogRefused      the catalog will not take this entity as it is: kept dirty, with the reason
    `-- Misconfigured       settings are missing or wrong: nothing starts

Shells hold no classification: they look at the class alone.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class ThroughlineError(Exception):
    """The root of everything that Throughline raises on purpose."""


@dataclass
class Refused(ThroughlineError):  # noqa: N818 - named for what becomes of the event
    """The sender must mend this: `status` and `title` for the answer, `field` where in the body."""

    detail: str
    field: str | None = None
    status: int = 400
    title: str = "The event can't be read"

    def __str__(self) -> str:
        return f"{self.detail} (at {self.field})" if self.field else self.detail


class Unreadable(Refused):
    """Empty, broken, of the wrong types, or nested too deeply."""


@dataclass
class TooLarge(Refused):
    """More bytes than the receiver takes."""

    status: int = 413
    title: str = "The event is too large"

    __str__ = Refused.__str__


class Quarantined(ThroughlineError):  # noqa: N818
    """An event that was accepted but can never be used; it becomes a dead letter."""


class GivenUp(ThroughlineError):  # noqa: N818
    """An event whose run could not be settled, whatever was in the way; that is tried again, ever less often."""


@dataclass
class Retry(ThroughlineError):  # noqa: N818
    """Nothing is wrong with the event: try again after `after` seconds."""

    detail: str
    after: float = 5.0

    def __str__(self) -> str:
        return self.detail


class StorageUnavailable(Retry):
    """Blob or table storage did not answer, or asked us to come back later."""


class StorageBusy(StorageUnavailable):
    """Storage pushes back (429, or 503 ServerBusy): whoever sends is to slow down."""


@dataclass
class StorageForbidden(StorageUnavailable):
    """Storage answered 401 or 403, or there was no token for it.

    `code` is Azure Storage's own: AuthorizationFailure for the account's network rules, AuthorizationPermissionMismatch
    for a missing role, another or none for the identity itself.
    """

    after: float = 60.0
    code: str = ""

    __str__ = Retry.__str__


@dataclass
class CatalogUnavailable(Retry):
    """The catalog did not answer, or asked us to come back later.

    `over`: the call has ended, so that it can take effect no later than now (it may have). `blames`: what was sent may
    be the reason, as of an answer 500, or none in time; of a 429 it is not. `made_progress`: partial
    results were saved, so that the retry makes fewer calls.
    """

    over: bool = False
    blames: bool = True
    made_progress: bool = False

    __str__ = Retry.__str__


class WriteConflict(Retry):
    """Somebody else kept changing the row we needed."""


class Superseded(WriteConflict):
    """Somebody else has begun to settle the same run after us, with all that we had put on record."""


class ContentLost(Retry):
    """A row names a blob that is not there: what it held is found anew by settling the runs behind it."""


@dataclass
class CatalogRefused(ThroughlineError):  # noqa: N818
    """The catalog answered that it will not take what was sent."""

    status: int
    code: str
    detail: str

    @property
    def no_access(self) -> bool:
        """Whether this concerns us and not what was sent: nothing would go through."""
        return self.status in _NO_ACCESS

    @property
    def unknown_type(self) -> bool:
        """Whether the catalog has no type of that name."""
        return self.code in _UNKNOWN_TYPE

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.detail}".strip()


class Misconfigured(ThroughlineError):  # noqa: N818
    """Every setting that is missing or wrong, in one message."""


_NO_ACCESS = frozenset({401, 403})
_UNKNOWN_TYPE = frozenset({"ATLAS-400-00-014", "ATLAS-404-00-001"})
"""TYPE_NAME_INVALID and TYPE_NAME_NOT_FOUND of Apache Atlas' `AtlasErrorCode`."""
_LONGEST_WAIT = 3600.0


def retry_after(header: str, now: datetime | None = None) -> float:
    """The seconds that a Retry-After header asks for, as a number or as a date (RFC 9110, 10.2.3), an hour at most; 0
    when it names none.
    """
    text = header.strip()
    if text.isdecimal() and text.isascii():
        return min(float(text[:9]), _LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    if until.tzinfo is None:  # `-0000`, which no server should write
        until = until.replace(tzinfo=UTC)
    return min(max((until - (now or datetime.now(UTC))).total_seconds(), 0.0), _LONGEST_WAIT)
