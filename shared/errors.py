"""The error tree: what happened, what becomes of the event, and what mends it.

    ThroughlineError
    |-- Refused             the request is wrong: answered with a 4xx, nothing is stored; the sender mends it
    |   |-- TooLarge        413: more bytes than THROUGHLINE_MAX_BODY_BYTES
    |   `-- Unreadable      400: empty, not UTF-8, not JSON, wrong types, nested too deeply
    |-- Quarantined         the stored event can never be used: a dead letter (`throughline deadletter show`)
    |-- GivenUp             folding its application failed repeatedly: a dead letter, until a later attempt succeeds
    |-- Retry               not now; the event is kept, and the host, the sweeper or the sender tries again
    |   |-- StorageUnavailable  no answer (`throughline doctor` says why)
    |   |   |-- StorageBusy     throttled: the sender is answered with a 429
    |   |   `-- StorageForbidden  identity or network refused: grant the role, open the network
    |   |-- CatalogUnavailable  no answer, or throttled
    |   |-- WriteConflict   another worker changed the same row: start over
    |   `-- ContentLost     a row names a blob that is gone: `throughline verify --fix` writes it again
    |-- CatalogRefused      the catalog rejects an entity: its process stays in the publish queue, with the reason
    |                       (`throughline status`); after mending it, `throughline types apply` or `replay`
    `-- Misconfigured       settings are missing or wrong: nothing starts until they are mended; events are kept

Shells classify nothing: the class of an error decides.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class ThroughlineError(Exception):
    """The root of all errors that Throughline raises on purpose."""


@dataclass
class Refused(ThroughlineError):  # noqa: N818 - named for what becomes of the event
    """A request that the sender must mend. `status`, `title`: of the answer; `field`: where in the body."""

    detail: str
    field: str | None = None
    status: int = 400
    title: str = "The event can't be read"

    def __str__(self) -> str:
        return f"{self.detail} (at {self.field})" if self.field else self.detail


class Unreadable(Refused):
    """A body that is empty, broken, of the wrong types, or nested too deeply."""


@dataclass
class TooLarge(Refused):
    """A body with more bytes than the receiver accepts."""

    status: int = 413
    title: str = "The event is too large"

    __str__ = Refused.__str__


class Quarantined(ThroughlineError):  # noqa: N818
    """A stored event that can never be used: it becomes a dead letter."""


class GivenUp(ThroughlineError):  # noqa: N818
    """An event whose run could not be processed three times; attempts go on, up to six hours apart."""


@dataclass
class Retry(ThroughlineError):  # noqa: N818
    """A failure that is not the event's: try again after `after` seconds."""

    detail: str
    after: float = 5.0

    def __str__(self) -> str:
        return self.detail


class StorageUnavailable(Retry):
    """Blob or table storage did not answer, or asked to wait."""


class StorageBusy(StorageUnavailable):
    """Storage throttles (429, or 503 ServerBusy): senders must slow down."""


@dataclass
class StorageForbidden(StorageUnavailable):
    """Storage answered 401 or 403, or there was no token for it.

    `code` is Azure Storage's: AuthorizationFailure for the account's network rules, AuthorizationPermissionMismatch for
    a missing role, another or none where the identity itself was refused.
    """

    after: float = 60.0
    code: str = ""

    __str__ = Retry.__str__


@dataclass
class CatalogUnavailable(Retry):
    """The catalog did not answer, or asked to wait.

    `over`: the call has ended, so it takes effect now or never. `blames`: what was sent may be the cause (an answer
    500, or none in time; not a 429). `made_progress`: partial results were saved, so the retry makes fewer calls.
    """

    over: bool = False
    blames: bool = True
    made_progress: bool = False
    no_access = False

    @property
    def is_general(self) -> bool:
        """Whether what was sent is not the cause: no call would succeed."""
        return not self.blames

    __str__ = Retry.__str__


class WriteConflict(Retry):
    """Other workers kept changing a row: all attempts to write it met a newer version."""


class ContentLost(Retry):
    """A row names a blob that is gone: computing the application again writes it again."""


@dataclass
class CatalogRefused(ThroughlineError):  # noqa: N818
    """The catalog rejected what was sent.

    `after_lost_try`: an earlier try of this call, whose answer was lost or a 500, may have taken effect; then that may
    be why the catalog refuses.
    """

    status: int
    code: str
    detail: str
    after_lost_try: bool = False
    over = True

    @property
    def is_general(self) -> bool:
        """Whether what was sent is not the cause: no call would succeed."""
        return self.no_access

    @property
    def no_access(self) -> bool:
        """Whether our access was refused, and not what was sent (401, 403): no call would succeed."""
        return self.status in _NO_ACCESS

    @property
    def unknown_type(self) -> bool:
        """Whether the catalog lacks the type: `throughline types apply` adds it."""
        return self.code in _UNKNOWN_TYPE

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.detail}".strip()


class Misconfigured(ThroughlineError):  # noqa: N818
    """Every setting that is missing or wrong, in one message."""


_NO_ACCESS = frozenset({401, 403})
_UNKNOWN_TYPE = frozenset({"ATLAS-400-00-014", "ATLAS-404-00-001"})
"""TYPE_NAME_INVALID and TYPE_NAME_NOT_FOUND of Apache Atlas' `AtlasErrorCode`."""
_MAX_WAIT = 3600.0


def retry_after(header: str, now: datetime | None = None) -> float:
    """The seconds that a Retry-After header asks for, as a number or as a date (RFC 9110, 10.2.3), an hour at most; 0
    when it names none.
    """
    text = header.strip()
    if text.isdecimal() and text.isascii():
        return min(float(text[:9]), _MAX_WAIT)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    if until.tzinfo is None:  # `-0000`, which no server should write
        until = until.replace(tzinfo=UTC)
    return min(max((until - (now or datetime.now(UTC))).total_seconds(), 0.0), _MAX_WAIT)
