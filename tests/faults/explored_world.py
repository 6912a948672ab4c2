"""A world for the explorer: storage and catalog that are copied at each step, and actors as functions of their answers.

What an actor (a worker, a publisher) does next depends only on the answers that it has got so far: it is run again on
these, without a world, until it asks for more. So no thread has to be stopped, and a state of the world is its storage,
its catalog, its time, and the answers of each actor.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from shared.errors import CatalogUnavailable, StorageUnavailable, ThroughlineError
from shared.storage.memory import MemoryStorage
from shared.storage.port import Operation, Row, refuse_too_large
from tests.faults.fault_injection import LISTS, RACES, UNASKED
from tests.faults.simulation import EPOCH
from tests.support.memory_catalog import MemoryCatalog
from throughline.local.catalog.store import Entity
from throughline.local.catalog.store import Store as LocalStore

__all__ = [
    "ENDED",
    "READS",
    "Answer",
    "Call",
    "Catalog",
    "CatalogStore",
    "Host",
    "Paused",
    "Store",
    "Way",
    "World",
]

_STARTED = datetime.now(UTC)
_LATER = _STARTED + timedelta(days=1)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(\+00:00|Z)")


def _digest(value: object) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()


READS = LISTS | {"read", "get", "get_part", "blob", "find", "look_up", "read_processes", "placeholders", "search"}
"""Calls that change nothing."""


class Paused(BaseException):
    """The actor asks for an answer that it has not got: our code must not catch it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call to `storage`, `catalog`, a `lease`, or the `host`."""

    to: str
    name: str
    given: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = (
            f"{argument.partition[:8]}|{argument.key[:60]}" if isinstance(argument, Row) else str(argument)[:60]
            for argument in self.given
        )
        return f"{self.to}.{self.name}({', '.join(parts)})"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a call: a value or an error, and the time (seconds) when it came, at which an actor may look."""

    time: float
    value: Any = None
    error: BaseException | None = None

    @cached_property
    def text(self) -> str:
        """All that it says, but for the time."""
        return f"{self.value!r} {self.error!r}"


class Store(MemoryStorage):
    """Storage in memory with etags that do not depend on what happened to other rows."""

    def __init__(self, time: float = 0.0) -> None:
        super().__init__(clock=lambda: self.time, now=lambda: EPOCH + timedelta(seconds=self.time))
        self.time = time
        self.versions: dict[tuple[str, str, str], int] = {}

    def copy(self) -> "Store":
        """A copy that shares no container with this one."""
        other = Store(self.time)
        other._blobs = {container: dict(blobs) for container, blobs in self._blobs.items()}
        other._tables = {
            table: {partition: dict(rows) for partition, rows in partitions.items()}
            for table, partitions in self._tables.items()
        }
        other._leases = dict(self._leases)
        other.versions = dict(self.versions)
        return other

    @property
    def etags(self) -> frozenset[str]:
        """The etags of all rows that are stored."""
        return frozenset(row.etag for rows in self._tables.values() for part in rows.values() for row in part.values())

    def contents(self) -> tuple[object, ...]:
        """All that is stored, as a value that can be compared, whatever was written before it."""
        rows = frozenset(etag.partition(".")[0] for etag in self.etags)
        blobs = frozenset(
            (container, name, hash(data), arrived)
            for container, blobs in self._blobs.items()
            for name, (data, arrived) in blobs.items()
        )
        leases = frozenset((name, holder, max(until, self.time)) for name, (holder, until) in self._leases.items())
        return (rows, blobs, leases, self.time)

    def take_lease(self, holder: str, name: str, seconds: int) -> str | None:
        """The lease for a holder by name; None when another one has it."""
        lease = self._leases.get(name)
        if lease and lease[1] > self.time:
            return None
        self._leases[name] = (holder, self.time + seconds)
        return holder

    def renew_lease(self, holder: str, name: str, seconds: int) -> bool:
        """As `Lease.renew`."""
        is_held = self._leases.get(name, ("", 0.0))[0] == holder
        if is_held:
            self._leases[name] = (holder, self.time + seconds)
        return is_held

    def release_lease(self, holder: str, name: str) -> None:
        """As `Lease.release`."""
        if self._leases.get(name, ("", 0.0))[0] == holder:
            del self._leases[name]

    def _write(self, table: str, row: Row) -> str:
        refuse_too_large(row)
        place = (table, row.partition, row.key)
        self.versions[place] = self.versions.get(place, 0) + 1
        etag = f'W/"{_digest((place, sorted(row.values.items())))}.{self.versions[place]}"'
        rows = self._tables.setdefault(table, {}).setdefault(row.partition, {})
        rows[row.key] = Row(partition=row.partition, key=row.key, values=dict(row.values), etag=etag)
        return etag


class CatalogStore(LocalStore):
    """A catalog's store whose GUIDs do not depend on the order of creation."""

    def __init__(self) -> None:
        super().__init__()
        self.created: dict[tuple[str, str], int] = {}

    def copy(self) -> "CatalogStore":
        """A copy that shares no container with this one."""
        other = CatalogStore()
        other.created = dict(self.created)
        other.entities, other.edges = dict(self.entities), dict(self.edges)
        other.index()
        return other

    def new_guid(self, type_name: str, qualified_name: str) -> str:
        """As the store says."""
        key = (type_name, qualified_name)
        self.created[key] = self.created.get(key, 0) + 1
        return str(UUID(hex=_digest((key, self.created[key])) * 2))


class Catalog(MemoryCatalog):
    """A catalog in memory that can be copied."""

    def __init__(self, store: CatalogStore) -> None:
        super().__init__(store)
        self._world_store = store
        self._contents: tuple[object, ...] | None = None  # a call that writes is made on a copy

    def copy(self) -> "Catalog":
        """A copy that shares no container with this one."""
        return Catalog(self._world_store.copy())

    def contents(self) -> tuple[object, ...]:
        """All that it holds, as a value that can be compared."""
        if self._contents is None:
            edges = self._world_store.edges.values()
            self._contents = (
                frozenset((guid, _text(entity)) for guid, entity in self._world_store.entities.items()),
                frozenset((edge.relationship, edge.end1, edge.end2) for edge in edges),
            )
        return self._contents


_TEXTS: dict[int, tuple[Entity, str]] = {}
"""By identity; the value is kept so that its identity is not used again."""


def _text(entity: Entity) -> str:
    """What an entity holds, without its times and its version."""
    cached_entry = _TEXTS.get(id(entity))
    if cached_entry is None:
        attributes = sorted(entity.body["attributes"].items())
        text = _digest((entity.type, attributes, entity.body.get("customAttributes")))
        cached_entry = _TEXTS[id(entity)] = (entity, text)
    return cached_entry[1]


@dataclass(slots=True, kw_only=True)
class World:
    """A state of storage and catalog. `apply` makes a call of an actor in it."""

    storage: Store
    catalog: Catalog

    def before(self, call: Call) -> "World":
        """A world in which to make a call, so that this one stays as it is."""
        if call.name in READS:
            return self
        if call.to == "catalog":
            return World(storage=self.storage, catalog=self.catalog.copy())
        return World(storage=self.storage.copy(), catalog=self.catalog)

    def copy(self) -> "World":
        """A copy to go on with."""
        return World(storage=self.storage.copy(), catalog=self.catalog.copy())

    def contents(self) -> tuple[object, ...]:
        """As a value that can be compared."""
        return (self.storage.contents(), self.catalog.contents())

    def apply(self, actor: str, call: Call, fault: str = "") -> Answer:
        """Execute a call. `fault`: `after`, its answer is lost; `race`, it is answered as if it had not been made."""
        value, error = None, None
        try:
            value = self._value(actor, call)
        except ThroughlineError as raised:
            error = raised
        if fault == "after":
            error_class = CatalogUnavailable if call.to == "catalog" else StorageUnavailable
            value, error = None, error_class("the answer is lost", after=0.0)
        elif fault == "race":
            value = RACES[call.name]
        return Answer(time=self.storage.time, value=value, error=error)

    def _value(self, actor: str, call: Call) -> Any:
        if call.to == "host":
            return self._of_host(call)
        if call.to == "lease":
            return getattr(self.storage, f"{call.name}_lease")(actor, *call.given)
        if call.name == "lease":
            return self.storage.take_lease(actor, *call.given)
        answer = getattr(getattr(self, call.to), call.name)(*call.given, **call.named)
        return list(answer) if call.name in LISTS else answer

    def _of_host(self, call: Call) -> Any:
        if call.name == "wait":
            self.storage.time += call.given[0]
            return None
        return self.storage.get(*call.given)


class Way:
    """An actor's way through its answers: gives one after the other, then notes the next call and pauses. `number`:
    how many it has given; `looks`: whether the actor has looked at the clock since the last one.
    """

    def __init__(self, answers: Sequence[Answer], began: float) -> None:
        self._answers = iter(answers)
        self._time = began
        self.looks = False
        self.number = 0
        self.next: Call | None = None
        self.storage: Any = _Port(self, "storage")
        self.catalog: Any = _Port(self, "catalog")
        self.host = Host(self)

    def ask(self, call: Call) -> Any:
        """The answer to a call. Raises Paused when there is none yet, and again at each later call."""
        if self.next is None:
            answer = next(self._answers, None)
            if answer is None:
                self.next = call
            else:
                self._time, self.looks = answer.time, False
                self.number += 1
                if answer.error:
                    raise answer.error
                return answer.value
        raise Paused

    @property
    def time(self) -> float:
        """The world's clock as of the last answer, in seconds; from now on the actor `looks` at it."""
        self.looks = True
        return self._time

    def now(self) -> datetime:
        """The same as a date."""
        return EPOCH + timedelta(seconds=self.time)


class Host:
    """What the host does for an actor, each a call of its own."""

    def __init__(self, way: Way) -> None:
        self._way = way

    def blob(self, container: str, name: str) -> bytes | None:
        """The blob of a message, read by the host as soon as it is there; None if it never will be."""
        content: bytes | None = self._way.ask(Call(to="host", name="blob", given=(container, name)))
        return content

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._way.ask(Call(to="host", name="wait", given=(seconds,)))


class _Port:
    """Storage or catalog as an actor sees it."""

    def __init__(self, way: Way, target: str) -> None:
        self._way = way
        self._to = target

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in UNASKED:
            return getattr(_IDLE, name)  # type: ignore[no-any-return]  # a method of the catalog

        def asked(*arguments: Any, **named: Any) -> Any:
            call = Call(to=self._to, name=name, given=tuple(map(_at_one_moment, arguments)), named=named)
            answer = self._way.ask(call)
            if name == "lease":
                return answer and _Lease(self._way, *arguments)
            return iter(answer) if name in LISTS else answer

        return asked


class _Lease:
    def __init__(self, way: Way, name: str, seconds: int) -> None:
        self._way, self._name, self._seconds = way, name, seconds

    def renew(self) -> bool:
        return bool(self._way.ask(Call(to="lease", name="renew", given=(self._name, self._seconds))))

    def release(self) -> None:
        self._way.ask(Call(to="lease", name="release", given=(self._name,)))


_IDLE = MemoryCatalog()
ENDED = Call(to="host", name="ended")
"""In place of a call: the actor has nothing more to do."""


def _at_one_moment(value: Any) -> Any:
    """A row, or rows or operations, whose times of the machine's clock are all the same: equal ways stay equal."""
    if isinstance(value, list | tuple) and value and isinstance(value[0], Row | Operation):
        return [_at_one_moment(element) for element in value]
    if isinstance(value, Operation):
        return replace(value, row=_at_one_moment(value.row))
    if not isinstance(value, Row):
        return value
    values = {name: _moment(cell) for name, cell in value.values.items()}
    return Row(partition=value.partition, key=value.key, values=values, etag=value.etag)


def _moment(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return EPOCH if _STARTED <= cell < _LATER else cell
    if isinstance(cell, str) and _MOMENT.fullmatch(cell) and _STARTED <= datetime.fromisoformat(cell) < _LATER:
        return EPOCH.isoformat()
    return cell
