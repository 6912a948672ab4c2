"""The settings as values: what `load` gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from shared.settings.kinds import TextFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The way out: proxies by scheme, kept out of any print for they may hold a password (`no`: the hosts that need
    none), and the file of the authorities to trust.
    """

    proxies: Mapping[str, str] = field(repr=False)
    authorities: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """Either a connection string (kept out of any print), or the end points and an identity."""

    network: Network

    connection_string: str = field(repr=False)
    blob_endpoint: str
    table_endpoint: str
    client_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSettings:
    """Where the catalog is, how to get in (the token, or password, is kept out of any print), how many calls a second
    it gets (0: no bound), whether columns are entities there (a plain Atlas' own form), and for what a token is asked
    (empty: by the end point's cloud).
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
    """Where spans and metrics go. The connection string is kept out of any print."""

    destination: str
    connection_string: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times of the rules of meaning, and of the archive (None: never)."""

    end_timeout: timedelta
    quiet: timedelta
    unseen: timedelta
    archive_after: timedelta | None
    archive_keep: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """What is included and excluded of one kind of thing."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """How assets are found in the catalog, and how long what was found, or not, is believed."""

    search: bool
    hits: timedelta
    misses: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """The file of rules (None: no watch), the file of policies (None: no gates), how long after one look the next is
    due, and the addresses of webhooks by channel; these and the secret that signs are kept out of any print.
    """

    rules: TextFile | None = None
    policy: TextFile | None = None
    every: timedelta = timedelta(minutes=15)
    webhooks: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings; `catalog` is None where it was not asked for. `to_record`: the texts that the functions put on
    record, by name; none for a command.
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
    batch: int
    lookup: Lookup
    telemetry: TelemetrySettings
    watch: WatchSettings
    to_record: Mapping[str, str] = field(default_factory=dict)
