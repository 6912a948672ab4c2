"""The settings as values, as `load` returns them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from shared.settings.kinds import TextFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network: proxies by scheme (`no`: hosts without a proxy), and the file of trusted authorities. Proxies may
    contain a password, so no print shows them.
    """

    proxies: Mapping[str, str] = field(repr=False)
    authorities: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """A connection string, which no print shows, or the endpoints and an identity."""

    network: Network

    connection_string: str = field(repr=False)
    blob_endpoint: str
    table_endpoint: str
    client_id: str

    @property
    def origin(self) -> str:
        """16 hexadecimal digits that stand for this account: they name an installation, and let nobody in."""
        parts = dict(part.partition("=")[::2] for part in self.connection_string.split(";"))
        account = self.blob_endpoint or parts.get("BlobEndpoint", "") or parts.get("AccountName", "") or "development"
        return hashlib.sha256(account.rstrip("/").lower().encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSettings:
    """The catalog.

    - `user`, `token`: how to sign in; no print shows the token (or password).
    - `rate`: calls a second; 0: no bound.
    - `own_columns`: whether columns are entities (a plain Atlas' own form).
    - `scope`: of tokens; empty: by the endpoint's cloud.
    """

    endpoint: str
    user: str
    token: str = field(repr=False)
    client_id: str
    rate: float
    collection: str = ""
    own_columns: bool = False
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """The destination of spans and metrics. No print shows the connection string."""

    destination: str
    connection_string: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Timeouts of runs and applications, and the times of the archive (None: never)."""

    end_timeout: timedelta
    quiet: timedelta
    unseen: timedelta
    archive_after: timedelta | None
    archive_keep: timedelta | None
    keep_runs: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """Patterns that include and exclude one kind of thing."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """How assets are looked up in the catalog, and how long hits and misses are cached."""

    search: bool
    hits: timedelta
    misses: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """The watch.

    - `rules`: the file of rules; None: no watch. `policy`: the file of policies; None: no gates.
    - `every`: the time between two snapshots of lineage.
    - `webhooks`: addresses by channel. `secret`: signs requests. No print shows either.
    """

    rules: TextFile | None = None
    policy: TextFile | None = None
    every: timedelta = timedelta(minutes=15)
    webhooks: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardSettings:
    """Forwarding.

    - `rules`: the file of targets and rules; None: nothing is forwarded.
    - `targets`: addresses by target. `tokens`: tokens by target. No print shows either.
    - `own_hosts`: where our own receiver is, as far as it is known: never a target.
    """

    rules: TextFile | None = None
    targets: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    tokens: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    own_hosts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class CanarySettings:
    """The sweeper's canary: the receiver's `url` (empty: none), the `key`, which no print shows, the `scope` of a token
    (empty: none), and the time between two.
    """

    url: str
    key: str = field(repr=False)
    scope: str
    every: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. `catalog`: None if it was not asked for. `to_record`: the texts that the functions put on record,
    by name; empty for a command.
    """

    storage: StorageSettings
    catalog: CatalogSettings | None
    times: Times
    max_body_bytes: int
    redact: bool
    operations_ignored: tuple[str, ...]
    operations_kept: tuple[str, ...]
    jobs: Patterns
    namespaces: Patterns
    paths: Patterns
    shadow: bool
    names: TextFile | None
    indirect_columns: bool
    show_sql: bool
    document: bool
    foreign_depth: int
    document_keep: timedelta
    batch: int
    lookup: Lookup
    telemetry: TelemetrySettings
    watch: WatchSettings
    forward: ForwardSettings
    canary: CanarySettings
    to_record: Mapping[str, str] = field(default_factory=dict)
