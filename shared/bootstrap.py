"""The composition root: the only place that names adapters. Each shell asks here for what it needs, once a process.

Imports are made where they are needed: the receiver must be warm before Spark's five seconds are over, and neither
the catalog's client nor azure-identity has anything to do with it.
"""

import gc
import logging
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

from shared.catalog import Account, Catalog, Types, dialect_of
from shared.errors import Misconfigured
from shared.naming import BUILT_IN, Names, parse_names
from shared.openlineage import Choice, Selection
from shared.pipeline import (
    Archiving,
    Finding,
    Lately,
    OneByOne,
    OneForAll,
    Publishing,
    Recent,
    SideBySide,
    Sweeping,
    check_versions,
)
from shared.settings import CatalogSettings, Patterns, Settings, StorageSettings, TelemetrySettings, load
from shared.storage import Storage
from shared.storage.azure import AzureStorage
from shared.storage.transport import transport
from shared.telemetry import SILENT, Acts, Sink, Telemetry, write_line
from shared.translation import Patience

_LOG = logging.getLogger("throughline.start")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Effort:
    """How often a call to storage is tried again, and the seconds to connect and to wait for an answer."""

    tries: int
    connect: float
    read: float


_QUICK = _Effort(tries=0, connect=1, read=1.5)
"""For the receiver: Spark waits for it, five seconds at most, and itself tries again after a 503."""

_LINGER = timedelta(seconds=2)
"""So much later lineage may be seen while runs keep ending, and so many fewer calls are made."""

_PATIENT = _Effort(tries=4, connect=5, read=30)

_SIDE_BY_SIDE = 8
"""Calls to storage at a time where many small ones are to be made: a connection pool of the SDK holds ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """What the receiver works with."""

    storage: Storage
    max_body_bytes: int
    selection: Selection
    redact: bool
    telemetry: Telemetry = SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What parser, sweeper and command line work with."""

    storage: Storage
    catalog: Catalog
    publishing: Publishing
    sweeping: Sweeping
    names: Names
    types: Types | None = None
    account: Account | None = None
    collection: str = ""
    recent: Recent = field(default_factory=Recent)
    lately: Lately = field(default_factory=Lately)
    settling: OneByOne = field(default_factory=OneByOne)
    publisher: OneForAll = field(default_factory=OneForAll)
    telemetry: Telemetry = SILENT


@cache
def receiver() -> Receiver:
    """The receiver's parts. Raises Misconfigured."""
    settings = load(catalog=False)
    try:
        telemetry = _telemetry(settings.telemetry)
    except Misconfigured:  # the parser tells of it; what is only looked at must not keep events from being taken
        telemetry = Acts(write_line)
    return Receiver(
        storage=receiver_storage(settings),
        max_body_bytes=settings.max_body_bytes,
        selection=Selection(
            ignore=settings.operations_ignored,
            keep=settings.operations_kept,
            jobs=_choice(settings.jobs),
            namespaces=_choice(settings.namespaces),
            paths=_paths(settings),
        ),
        redact=settings.redact,
        telemetry=telemetry,
    )


def _choice(patterns: Patterns) -> Choice:
    return Choice(include=patterns.include, exclude=patterns.exclude)


def _paths(settings: Settings) -> Choice:
    """One table is often written in several ways, so capitals do not count."""
    paths = settings.paths
    return Choice(include=paths.include, exclude=paths.exclude, folded=bool(paths.include or paths.exclude))


def receiver_storage(settings: Settings) -> Storage:
    """Storage that answers or fails soon."""
    return _storage(settings.storage, _QUICK)


@cache
def worker() -> Worker:
    """The parts of parser and sweeper. Raises Misconfigured, also where a newer Throughline has been at work, and
    StorageUnavailable.
    """
    settings = load(catalog=True)
    parts = assemble(settings, _telemetry(settings.telemetry))
    problem = check_versions(parts.storage)
    if problem:
        _LOG.warning("versions differ: %s", problem)
    calm_collector()
    return parts


def calm_collector() -> None:
    """Have the garbage collector look seldom, and not at what was there from the start.

    What events become has no cycles and goes without it: a sixth of the time of translating went to looking.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def assemble(settings: Settings, telemetry: Telemetry = SILENT) -> Worker:
    """The parts that these settings (with a catalog) ask for. What they tell is for the functions: `telemetry`."""
    if settings.catalog is None:
        raise ValueError("settings without a catalog cannot make a worker")
    client, call_bound = _client(settings.catalog, telemetry)
    names = parse_names(settings.names.text, settings.names.place) if settings.names else BUILT_IN
    return Worker(
        storage=_storage(settings.storage, _PATIENT),
        catalog=_catalog(client, settings.catalog),
        types=_types(client),
        account=_account(client, settings.catalog),
        collection=settings.catalog.collection,
        publishing=Publishing(
            batch=settings.batch,
            call_bound=call_bound,
            with_indirect=settings.indirect_columns,
            with_statement=settings.show_sql,
            paths=_paths(settings),
            shadow=settings.shadow,
            linger=_LINGER,
            side_by_side=SideBySide(at_once=_SIDE_BY_SIDE),
            finding=Finding(search=settings.lookup.search, hits=settings.lookup.hits, misses=settings.lookup.misses),
            patience=Patience(quiet=settings.times.quiet, unseen=settings.times.unseen),
            telemetry=telemetry,
        ),
        sweeping=Sweeping(
            end_timeout=settings.times.end_timeout,
            names=names,
            archiving=Archiving(
                after=settings.times.archive_after, keep=settings.times.archive_keep, at_once=_SIDE_BY_SIDE
            ),
            telemetry=telemetry,
        ),
        names=names,
        telemetry=telemetry,
    )


def _telemetry(settings: TelemetrySettings) -> Telemetry:
    """Lines always; spans and metrics where they are asked for. Raises Misconfigured."""
    return Acts(write_line) if settings.destination == "off" else Acts(write_line, _listener(settings))


@cache
def _listener(settings: TelemetrySettings) -> Sink:
    """One for all functions of the process, which sends all that is left when that ends."""
    from shared.telemetry import exporters  # noqa: PLC0415 - whoever does not want spans must not pay for them

    return exporters.listener(settings.destination, settings.connection_string)


def _storage(settings: StorageSettings, effort: _Effort) -> AzureStorage:
    how: dict[str, Any] = {
        "retry_total": effort.tries,
        "transport": transport(
            connection_timeout=effort.connect,
            read_timeout=effort.read,
            proxies=settings.network.proxies,
            authorities=settings.network.authorities,
        ),
    }
    if settings.connection_string:
        return AzureStorage(
            BlobServiceClient.from_connection_string(settings.connection_string, **how),
            TableServiceClient.from_connection_string(settings.connection_string, **how),
        )
    credential = _credential(settings.client_id)
    return AzureStorage(
        BlobServiceClient(settings.blob_endpoint, credential=credential, **how),
        TableServiceClient(settings.table_endpoint, credential=credential, **how),
    )


def account_at(endpoint: str, token: str = "") -> Account | None:
    """A Purview account by its end point alone, for whoever is signed in (or by a fixed token); None where that
    is none of Purview's.
    """
    settings = CatalogSettings(endpoint=endpoint, user="", token=token, client_id="", rate=0)
    return _account(_client(settings, SILENT)[0], settings)


def _client(settings: CatalogSettings, telemetry: Telemetry) -> tuple[Any, timedelta]:
    """The catalog's client, and after what time a call of it is certainly over."""
    from pyapacheatlas.auth import BasicAuthentication  # noqa: PLC0415 - the receiver must not pay for it

    from shared.catalog.pace import Pace  # noqa: PLC0415 - the same
    from shared.catalog.transport import (  # noqa: PLC0415 - the same
        CredentialToken,
        Effort,
        StaticToken,
        SteadyAtlasClient,
    )

    if settings.user:
        who = BasicAuthentication(settings.user, settings.token)
    elif settings.token:
        who = StaticToken(settings.token)
    else:
        who = CredentialToken(_credential(settings.client_id))
    effort = Effort()
    parameters = dialect_of(settings.endpoint).parameters
    client = SteadyAtlasClient(
        settings.endpoint,
        who,
        effort=effort,
        pace=Pace(settings.rate),
        parameters=parameters,
        telemetry=telemetry,
    )
    return client, timedelta(seconds=effort.bound)


def _catalog(client: Any, settings: CatalogSettings) -> Catalog:
    from shared.catalog.atlas import AtlasCatalog  # noqa: PLC0415 - the receiver must not pay for it

    if settings.collection and not dialect_of(settings.endpoint).is_purview:
        raise Misconfigured("THROUGHLINE_COLLECTION is for Purview: this catalog has no collections")
    if settings.own_columns and dialect_of(settings.endpoint).is_purview:
        raise Misconfigured("THROUGHLINE_ATLAS_COLUMNS is for a plain Apache Atlas: Purview shows columns without it")
    return AtlasCatalog(client, collection=settings.collection, own_columns=settings.own_columns)


def _types(client: Any) -> Types:
    from shared.catalog.typedefs import AtlasTypes  # noqa: PLC0415 - the receiver must not pay for it

    return AtlasTypes(client)


def _account(client: Any, settings: CatalogSettings) -> Account | None:
    """Purview's; other catalogs have none."""
    from shared.catalog.account import PurviewAccount  # noqa: PLC0415 - the receiver must not pay for it

    return PurviewAccount(client) if dialect_of(settings.endpoint).is_purview else None


def _credential(client_id: str) -> Any:
    from azure.identity import DefaultAzureCredential  # noqa: PLC0415 - slow to import, and not needed locally

    return DefaultAzureCredential(managed_identity_client_id=client_id or None)
