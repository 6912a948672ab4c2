"""The composition root of parser, sweeper and command line: which adapters they work with, made once a process. The
receiver has its own, `shared/bootstrap_receiver.py`, and what both need is in `shared/adapters.py`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

from shared.adapters import StorageRetryPolicy, credential_of, storage_at, telemetry_to
from shared.announcing.delivery import Sender
from shared.announcing.local_channels import FileChannel, TelemetryChannel
from shared.announcing.recorded_state import ReadCatalog, gates_of, no_gates, not_read
from shared.announcing.rounds import WatchOptions
from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.applications.rows import BlobCache
from shared.canary.hops import CanaryOptions
from shared.catalog.connection.dialect import cloud_of, dialect_of
from shared.catalog.port import Account, Catalog, Classifications, Documents, Terms, Types
from shared.classifying.planning import reading_of
from shared.concurrency import KeyedLock, ParallelMap, SingleFlight
from shared.errors import Misconfigured
from shared.forwarding.content import SignIn
from shared.forwarding.rounds import ForwardOptions
from shared.forwarding.rules import Auth, TargetKind, TargetRule, check_targets, parse_forward_rules
from shared.gc_tuning import tune_gc
from shared.governance.rules_file import parse_policies
from shared.naming.names import BUILT_IN, Names
from shared.naming.user_rules import parse_names
from shared.openlineage.selection import GlobFilter
from shared.publishing.context import PublishContext, PublishOptions, ResolutionOptions
from shared.records.control import check_versions, record_settings
from shared.settings.reading import load
from shared.settings.values import (
    CanarySettings,
    CatalogSettings,
    ForwardSettings,
    Patterns,
    Settings,
    StorageSettings,
    WatchSettings,
)
from shared.storage.port import Storage
from shared.sweeping.closing import ClosingOptions
from shared.sweeping.sweep import SweepOptions
from shared.telemetry.port import SILENT, Telemetry
from shared.translation.aggregate import SupersessionPolicy
from shared.watching.rules import Channel, ChannelKind, WatchRules, parse_watch_rules

_LINGER = timedelta(seconds=2)
"""So much later lineage may be seen while runs keep ending, and so many fewer calls are made."""

_PATIENT = StorageRetryPolicy(tries=4, connect=5, read=30)

_SIDE_BY_SIDE = 8
"""Calls to storage at a time where many small ones are to be made: a connection pool of the SDK holds ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker(PublishContext):
    """What parser, sweeper and command line work with. `to_record`: the settings that the functions put on record."""

    sweeping: SweepOptions
    names: Names
    types: Types | None = None
    documents: Documents | None = None
    account: Account | None = None
    classifications: Classifications | None = None
    terms: Terms | None = None
    collection: str = ""
    blob_cache: BlobCache = field(default_factory=BlobCache)
    locks: KeyedLock = field(default_factory=KeyedLock)
    publisher: SingleFlight = field(default_factory=SingleFlight)
    telemetry: Telemetry = SILENT
    watching: WatchOptions | None = None
    read_catalog: ReadCatalog = not_read
    watch_settings: WatchSettings = field(default_factory=WatchSettings)
    forwarding: ForwardOptions | None = None
    forward_settings: ForwardSettings = field(default_factory=ForwardSettings)
    origin: str = ""
    canary: CanaryOptions | None = None
    to_record: Mapping[str, str] = field(default_factory=dict)
    document_keep: timedelta = timedelta(days=400)

    @property
    def processor(self) -> ApplicationProcessor:
        """Folds events into applications, with the caches of this process."""
        return ApplicationProcessor(
            storage=self.storage,
            names=self.names,
            forwards=self.forward_settings.rules is not None,
            blob_cache=self.blob_cache,
            memory=self.memory,
            pause=time.sleep,
            telemetry=self.telemetry,
        )

    @property
    def delivery(self) -> Delivery:
        """Delivers events to the processor, for the parser."""
        return Delivery(processor=self.processor, locks=self.locks)


@cache
def worker() -> Worker:
    """The parts of parser and sweeper. Raises Misconfigured, also where another version wrote the stored data, and
    StorageUnavailable.
    """
    settings = load(catalog=True)
    parts = assemble(settings, telemetry_to(settings.telemetry))
    parts = replace(parts, forwarding=forwarding(parts, settings.storage.client_id))
    check_versions(parts.storage)
    record_settings(parts.storage, parts.to_record)
    tune_gc()
    return parts


def storage_of(settings: StorageSettings) -> Storage:
    """Storage as parser, sweeper and commands use it. Nothing is called yet."""
    return storage_at(settings, _PATIENT)


def assemble(settings: Settings, telemetry: Telemetry = SILENT, *, storage: Storage | None = None) -> Worker:
    """The parts that these settings (with a catalog) ask for, on this storage if it was made already. What they report
    goes to `telemetry`.
    """
    if settings.catalog is None:
        raise ValueError("settings without a catalog cannot make a worker")
    if settings.foreign_depth and not settings.document:
        raise Misconfigured("THROUGHLINE_FOREIGN_DEPTH needs the lineage document: set THROUGHLINE_DOCUMENT to true")
    # the adapters are slow to import, and `--help` needs no catalog
    from shared.catalog.atlas.annotations import (  # noqa: PLC0415
        AtlasClassifications,
        AtlasDocumentation,
        AtlasTerms,
    )
    from shared.catalog.connection.account import AtlasTypes  # noqa: PLC0415

    client, call_bound = _client(settings.catalog, telemetry)
    names = parse_names(settings.names.text, settings.names.place) if settings.names else BUILT_IN
    storage, classifications = storage or storage_of(settings.storage), AtlasClassifications(client)
    routing = settings.watch.rules
    read_catalog = partial(reading_of, catalog=classifications, storage=storage)
    return Worker(
        storage=storage,
        catalog=_catalog(client, settings.catalog),
        types=AtlasTypes(client),
        documents=AtlasDocumentation(client),
        account=_account(client, settings.catalog),
        classifications=classifications,
        terms=AtlasTerms(client),
        collection=settings.catalog.collection,
        publishing=PublishOptions(
            batch=settings.batch,
            call_bound=call_bound,
            with_indirect=settings.indirect_columns,
            with_statement=settings.show_sql,
            paths=_paths(settings.paths),
            shadow=settings.shadow,
            documents=settings.document,
            foreign_depth=settings.foreign_depth,
            debounce=_LINGER,
            parallel=ParallelMap(at_once=_SIDE_BY_SIDE),
            finding=ResolutionOptions(
                search=settings.lookup.search, hits=settings.lookup.hits, misses=settings.lookup.misses
            ),
            patience=SupersessionPolicy(quiet=settings.times.quiet, unseen=settings.times.unseen),
            telemetry=telemetry,
        ),
        sweeping=SweepOptions(
            end_timeout=settings.times.end_timeout,
            names=names,
            forwards=settings.forward.rules is not None,
            closing=ClosingOptions(
                quiet=settings.times.archive_after,
                keep_runs=settings.times.keep_runs,
                keep=settings.times.archive_keep,
                at_once=_SIDE_BY_SIDE,
            ),
            telemetry=telemetry,
        ),
        names=names,
        telemetry=telemetry,
        watching=watching(parse_watch_rules(routing.text, routing.place), settings.watch, telemetry, read_catalog)
        if routing
        else None,
        read_catalog=read_catalog,
        watch_settings=settings.watch,
        forward_settings=settings.forward,
        origin=settings.storage.origin,
        canary=_canary(settings.canary, settings.catalog.client_id),
        to_record=settings.to_record,
        document_keep=settings.document_keep,
    )


def watching(
    rules: WatchRules, settings: WatchSettings, telemetry: Telemetry = SILENT, read_catalog: ReadCatalog = not_read
) -> WatchOptions:
    """How to watch by these rules; `read_catalog`: what policies ask of the catalog. Raises Misconfigured where a
    webhook has no address, or the policies are wrong.
    """
    from shared.announcing.webhook import Webhook  # noqa: PLC0415 - an adapter that only the watch needs

    addresses, policy = dict(settings.webhooks), settings.policy
    lacking = [channel.name for channel in rules.channels if channel.kind.is_webhook and channel.name not in addresses]
    if lacking:
        raise Misconfigured(
            f"The channels {', '.join(lacking)} have no address: set THROUGHLINE_WATCH_WEBHOOKS to"
            f" {' '.join(f'{name}=https://…' for name in lacking)}"
        )

    def sender(channel: Channel) -> Sender:
        if channel.kind is ChannelKind.TELEMETRY:
            return TelemetryChannel(telemetry=telemetry)
        if channel.kind is ChannelKind.FILE:
            return FileChannel(path=Path(channel.path))
        return Webhook(url=addresses[channel.name], kind=channel.kind, secret=settings.secret)

    return WatchOptions(
        rules=rules,
        senders={channel.name: sender(channel) for channel in rules.channels},
        every=settings.every,
        gates=gates_of(parse_policies(policy.text, policy.place), read_catalog) if policy else no_gates,
        parallel=ParallelMap(at_once=_SIDE_BY_SIDE),
    )


def forwarding(parts: Worker, client_id: str = "") -> ForwardOptions | None:
    """How to forward by the settings, with open targets; None where nothing is forwarded. `client_id`: of the identity.
    Raises Misconfigured where a target lacks its address or token, or is our own receiver.
    """
    settings = parts.forward_settings
    if settings.rules is None:
        return None
    from shared.forwarding.http_target import SCOPES, HttpTarget, no_headers  # noqa: PLC0415 - as the webhook

    rules = parse_forward_rules(settings.rules.text, settings.rules.place)
    addresses, tokens = dict(settings.targets), dict(settings.tokens)
    check_targets(rules, addresses, tokens, settings.own_hosts)

    def sign_in(target: TargetRule) -> SignIn:
        if target.auth is Auth.IDENTITY:
            from shared.catalog.connection.transport import CredentialToken  # noqa: PLC0415 - the same

            token = CredentialToken(credential_of(client_id), scope=target.scope or SCOPES[target.kind])
            return lambda: {"Authorization": token.get_authentication_headers()["Authorization"]}
        if target.auth is Auth.TOKEN:
            scheme = "SharedAccessSignature" if target.kind is TargetKind.EVENTHUB else "Bearer"
            headers = {"Authorization": f"{scheme} {tokens[target.name]}"}
            return lambda: headers
        return no_headers

    return ForwardOptions(
        rules=rules,
        targets={
            target.name: HttpTarget(
                url=addresses[target.name], kind=target.kind, sign_in=sign_in(target), origin=parts.origin
            )
            for target in rules.targets
        },
        paths=parts.publishing.paths,
        parallel=ParallelMap(at_once=_SIDE_BY_SIDE),
    )


def _canary(settings: CanarySettings, client_id: str) -> CanaryOptions | None:
    """How the sweeper sends canaries; None where no address says to where."""
    if not settings.url:
        return None
    from shared.canary.sender import Sender, no_token  # noqa: PLC0415 - as the webhook
    from shared.catalog.connection.transport import CredentialToken  # noqa: PLC0415 - the same

    def token() -> str:
        headers = CredentialToken(credential_of(client_id), scope=settings.scope).get_authentication_headers()
        return headers["Authorization"].removeprefix("Bearer ")

    sender = Sender(url=settings.url, key=settings.key, token=token if settings.scope else no_token)
    return CanaryOptions(send=sender.send, every=settings.every)


def account_at(endpoint: str, token: str = "", *, scope: str = "") -> Account | None:
    """A Purview account by its endpoint alone, for the user who is signed in (or by a fixed token); None where that
    is none of Purview's. `scope` is for what a token is asked, by the endpoint's cloud where empty.
    """
    settings = CatalogSettings(endpoint=endpoint, user="", token=token, client_id="", rate=0, scope=scope)
    return _account(_client(settings, SILENT)[0], settings)


def _client(settings: CatalogSettings, telemetry: Telemetry) -> tuple[Any, timedelta]:
    """The catalog's client, and after what time a call of it is certainly over."""
    from pyapacheatlas.auth import BasicAuthentication  # noqa: PLC0415 - slow, and `--help` needs no catalog

    from shared.catalog.connection.transport import (  # noqa: PLC0415 - the same
        CredentialToken,
        RateLimiter,
        RetryPolicy,
        StaticToken,
        SteadyAtlasClient,
    )

    if settings.user:
        authentication = BasicAuthentication(settings.user, settings.token)
    elif settings.token:
        authentication = StaticToken(settings.token)
    else:
        cloud = cloud_of(settings.endpoint)  # a host that is none of Purview's has a scope only by the setting
        authentication = CredentialToken(
            credential_of(settings.client_id), scope=settings.scope or (cloud.scope if cloud else "")
        )
    retry_policy = RetryPolicy()
    parameters = dialect_of(settings.endpoint).parameters
    client = SteadyAtlasClient(
        settings.endpoint,
        authentication,
        retry_policy=retry_policy,
        rate_limiter=RateLimiter(settings.rate),
        parameters=parameters,
        telemetry=telemetry,
    )
    return client, timedelta(seconds=retry_policy.bound)


def _catalog(client: Any, settings: CatalogSettings) -> Catalog:
    from shared.catalog.atlas.catalog import AtlasCatalog  # noqa: PLC0415 - slow, and `--help` needs no catalog

    if settings.collection and not dialect_of(settings.endpoint).is_purview:
        raise Misconfigured("THROUGHLINE_COLLECTION is for Purview: this catalog has no collections")
    if settings.own_columns and dialect_of(settings.endpoint).is_purview:
        raise Misconfigured("THROUGHLINE_ATLAS_COLUMNS is for a plain Apache Atlas: Purview shows columns without it")
    return AtlasCatalog(client, collection=settings.collection, own_columns=settings.own_columns)


def _account(client: Any, settings: CatalogSettings) -> Account | None:
    """Purview's; other catalogs have none."""
    from shared.catalog.connection.account import PurviewAccount  # noqa: PLC0415 - slow, and `--help` needs no catalog

    return PurviewAccount(client) if dialect_of(settings.endpoint).is_purview else None


def _paths(patterns: Patterns) -> GlobFilter:
    """Which paths are wanted. One table is often written in several ways, so capitals do not count."""
    return GlobFilter(
        include=patterns.include, exclude=patterns.exclude, ignore_case=bool(patterns.include or patterns.exclude)
    )
