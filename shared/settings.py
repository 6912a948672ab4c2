"""The only reader of the environment. Everything missing or wrong is reported at once, with what to do.

The table `SETTINGS` is the whole list; docs and templates are checked against it.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from shared.errors import Misconfigured
from shared.setting_kinds import (
    NamesFile,
    collection,
    connection,
    endpoint,
    file,
    nodes,
    one_of,
    patterns,
    rate,
    span,
    whole,
    yes_or_no,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its name in the environment, its default (None: it has none), and what it is for.

    `of_receiver`: whether the receiver looks at it. What it does not need must not keep it from taking events.
    `forgiven`: the receiver goes on with the default where it is wrong; the parser tells of it.
    """

    name: str
    default: str | None
    meaning: str
    parse: Callable[[str], Any] = str
    of_receiver: bool = False
    forgiven: bool = False


_STORAGE = "AzureWebJobsStorage"
_INSIGHTS = "APPLICATIONINSIGHTS_CONNECTION_STRING"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        name=_STORAGE,
        default="",
        meaning="Connection string of the storage account: for local use (Azurite)",
        parse=connection,
        of_receiver=True,
    ),
    Setting(
        name=f"{_STORAGE}__blobServiceUri",
        default="",
        meaning="In Azure instead of a connection string: https://ACCOUNT.blob.core.windows.net",
        parse=lambda text: endpoint(text) if text else "",
        of_receiver=True,
    ),
    Setting(
        name=f"{_STORAGE}__tableServiceUri",
        default="",
        meaning="In Azure instead of a connection string: https://ACCOUNT.table.core.windows.net",
        parse=lambda text: endpoint(text) if text else "",
        of_receiver=True,
    ),
    Setting(
        name=f"{_STORAGE}__clientId",
        default="",
        meaning="Client id of the user-assigned identity, if there is one",
        of_receiver=True,
    ),
    Setting(
        name="THROUGHLINE_CATALOG_ENDPOINT",
        default=None,
        meaning="Atlas v2 end point: https://ACCOUNT.purview.azure.com/datamap/api/atlas/v2",
        parse=endpoint,
    ),
    Setting(
        name="THROUGHLINE_CATALOG_TOKEN",
        default="",
        meaning="A fixed bearer token, for the local catalog; without it Azure's default credential is used",
    ),
    Setting(
        name="THROUGHLINE_CATALOG_USER",
        default="",
        meaning="For a plain Apache Atlas: who to be there. THROUGHLINE_CATALOG_TOKEN is then the password",
    ),
    Setting(
        name="THROUGHLINE_COLLECTION",
        default="",
        meaning="Purview's collection for our own assets and processes, by the name in its address; empty: the root",
        parse=collection,
    ),
    Setting(
        name="THROUGHLINE_MAX_BODY_BYTES",
        default=str(64 * 1024 * 1024),
        meaning="The largest event that is taken, in bytes",
        parse=whole(100 * 1024 * 1024),
        of_receiver=True,
    ),
    Setting(
        name="THROUGHLINE_REDACT",
        default="false",
        meaning="Whether events are stored without literals in SQL, Spark's properties, query strings and the like",
        parse=yes_or_no,
        of_receiver=True,
    ),
    Setting(
        name="THROUGHLINE_END_TIMEOUT_MINUTES",
        default="360",
        meaning="How long after its last event a run's end is waited for",
        parse=span(timedelta(minutes=1)),
    ),
    Setting(
        name="THROUGHLINE_QUIET_MINUTES",
        default="60",
        meaning="How long an application that has not ended must be quiet before it replaces older runs",
        parse=span(timedelta(minutes=1)),
    ),
    Setting(
        name="THROUGHLINE_UNSEEN_DAYS",
        default="7",
        meaning="How long an edge stays that an endless application does not repeat",
        parse=span(timedelta(days=1)),
    ),
    Setting(
        name="THROUGHLINE_ARCHIVE_AFTER_HOURS",
        default="48",
        meaning="How long a settled run is quiet before it is closed and its events are archived; 0: never",
        parse=lambda text: None if text == "0" else span(timedelta(hours=1))(text),
    ),
    Setting(
        name="THROUGHLINE_ARCHIVE_KEEP_DAYS",
        default="0",
        meaning="How long archived events are kept; 0: for ever. The lineage stays in any case",
        parse=lambda text: None if text == "0" else span(timedelta(days=1))(text),
    ),
    Setting(
        name="THROUGHLINE_OPERATIONS_IGNORE",
        default="",
        meaning="Operations whose runs are not wanted: nodes of Spark's job names, with * and ?, with commas between",
        parse=nodes,
        of_receiver=True,
    ),
    Setting(
        name="THROUGHLINE_OPERATIONS_KEEP",
        default="",
        meaning="Operations of which every event is kept, whatever would be ignored otherwise: in the same way",
        parse=nodes,
        of_receiver=True,
    ),
    *(
        Setting(
            name=f"THROUGHLINE_{verb}_{kind}",
            default="",
            meaning=meaning,
            parse=patterns,
            of_receiver=True,
        )
        for verb, kind, meaning in (
            ("INCLUDE", "JOBS", "Only these jobs are wanted: patterns with * and ?, with commas between"),
            ("EXCLUDE", "JOBS", "Jobs that are not wanted, included or not"),
            ("INCLUDE", "NAMESPACES", "Only jobs of these namespaces are wanted"),
            ("EXCLUDE", "NAMESPACES", "Namespaces whose jobs are not wanted, included or not"),
            ("INCLUDE", "PATHS", "Only these data sets are shown in the catalog: patterns of paths or tables"),
            ("EXCLUDE", "PATHS", "Data sets that are not shown in the catalog, included or not"),
        )
    ),
    Setting(
        name="THROUGHLINE_SHADOW",
        default="false",
        meaning="Whether all is done but writing to the catalog: what would be written is told by `throughline shadow`",
        parse=yes_or_no,
    ),
    Setting(
        name="THROUGHLINE_NAMES",
        default="",
        meaning="The file of names, TOML or JSON: rules of one's own, and ids of Fabric and Unity Catalog",
        parse=file,
    ),
    Setting(
        name="THROUGHLINE_INDIRECT_COLUMNS",
        default="false",
        meaning="Whether filter, join and sort columns are shown in the catalog too",
        parse=yes_or_no,
    ),
    Setting(
        name="THROUGHLINE_SHOW_SQL",
        default="false",
        meaning="Whether a process's description ends with the SQL of its last run, without literals",
        parse=yes_or_no,
    ),
    Setting(
        name="THROUGHLINE_ATLAS_COLUMNS",
        default="false",
        meaning="For a plain Apache Atlas: whether columns are entities too, so that its own page shows their lineage",
        parse=yes_or_no,
    ),
    Setting(
        name="THROUGHLINE_FIND_BY_SEARCH",
        default="true",
        meaning="Whether assets that have none of the likely names are searched for in the catalog",
        parse=yes_or_no,
    ),
    Setting(
        name="THROUGHLINE_FOUND_HOURS",
        default="168",
        meaning="How long it is remembered which asset of the catalog a data set is",
        parse=span(timedelta(hours=1)),
    ),
    Setting(
        name="THROUGHLINE_MISSED_HOURS",
        default="6",
        meaning="How long it is remembered that no scan has found a data set; then it is looked for again",
        parse=span(timedelta(hours=1)),
    ),
    Setting(
        name="THROUGHLINE_BATCH",
        default="50",
        meaning="How many entities one call to the catalog holds",
        parse=whole(200),
    ),
    Setting(
        name="THROUGHLINE_CATALOG_RATE",
        default="20",
        meaning="How many calls a second the catalog gets at most; 0: as many as there are to make",
        parse=rate(1000),
    ),
    Setting(
        name="THROUGHLINE_TELEMETRY",
        default="off",
        meaning="Where spans and metrics go: off, console, otlp (to a collector) or azure (to Application Insights)",
        parse=one_of("off", "console", "otlp", "azure"),
        of_receiver=True,
        forgiven=True,
    ),
    Setting(
        name=_INSIGHTS,
        default="",
        meaning="Connection string of Application Insights: for THROUGHLINE_TELEMETRY=azure; Azure sets it itself",
        of_receiver=True,
    ),
)


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
    it gets (0: no bound), and whether columns are entities there (a plain Atlas' own form).
    """

    endpoint: str
    user: str
    token: str = field(repr=False)
    client_id: str
    rate: float
    collection: str = ""
    own_columns: bool = False


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
class Settings:
    """All settings; `catalog` is None where it was not asked for."""

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
    names: NamesFile | None
    indirect_columns: bool
    show_sql: bool
    batch: int
    lookup: Lookup
    telemetry: TelemetrySettings


_PLACES = (_STORAGE, "THROUGHLINE_CATALOG_")


def named(environment: Mapping[str, str] | None = None, *, place: bool = False) -> bool:
    """Whether the environment names a Throughline: any setting of it at all, or one that says where it is."""
    found = os.environ if environment is None else environment
    return any(setting.name in found for setting in SETTINGS if not place or setting.name.startswith(_PLACES))


def load(
    *, catalog: bool, environment: Mapping[str, str] | None = None, over: Mapping[str, str] | None = None
) -> Settings:
    """The settings from the environment, those in `over` instead of the environment's own.

    `catalog`: whether the catalog is needed too; without it only what the receiver needs is looked at, and all else has
    its default. Raises Misconfigured with every problem in it.
    """
    found = {**(os.environ if environment is None else environment), **(over or {})}
    values, problems = _parsed(found, catalog=catalog)
    identity = (f"{_STORAGE}__blobServiceUri", f"{_STORAGE}__tableServiceUri")
    if not values.get(_STORAGE) and not all(values.get(name) for name in identity):
        problems.append(f"{_STORAGE} (a connection string), or {' and '.join(identity)}, must be set")
    if values.get("THROUGHLINE_CATALOG_USER") and not values.get("THROUGHLINE_CATALOG_TOKEN"):
        problems.append("THROUGHLINE_CATALOG_USER needs a password: set THROUGHLINE_CATALOG_TOKEN to it")
    if problems:
        raise Misconfigured("The settings are not complete:\n" + "\n".join(f"  - {each}" for each in problems))
    client_id = values[f"{_STORAGE}__clientId"]
    return Settings(
        storage=StorageSettings(
            network=_network(found),
            connection_string=values[_STORAGE],
            blob_endpoint=values[identity[0]],
            table_endpoint=values[identity[1]],
            client_id=client_id,
        ),
        catalog=CatalogSettings(
            endpoint=values["THROUGHLINE_CATALOG_ENDPOINT"],
            user=values["THROUGHLINE_CATALOG_USER"],
            token=values["THROUGHLINE_CATALOG_TOKEN"],
            client_id=client_id,
            rate=values["THROUGHLINE_CATALOG_RATE"],
            collection=values["THROUGHLINE_COLLECTION"],
            own_columns=values["THROUGHLINE_ATLAS_COLUMNS"],
        )
        if catalog
        else None,
        times=Times(
            end_timeout=values["THROUGHLINE_END_TIMEOUT_MINUTES"],
            quiet=values["THROUGHLINE_QUIET_MINUTES"],
            unseen=values["THROUGHLINE_UNSEEN_DAYS"],
            archive_after=values["THROUGHLINE_ARCHIVE_AFTER_HOURS"],
            archive_keep=values["THROUGHLINE_ARCHIVE_KEEP_DAYS"],
        ),
        max_body_bytes=values["THROUGHLINE_MAX_BODY_BYTES"],
        redact=values["THROUGHLINE_REDACT"],
        operations_ignored=values["THROUGHLINE_OPERATIONS_IGNORE"],
        operations_kept=values["THROUGHLINE_OPERATIONS_KEEP"],
        jobs=_patterns(values, "JOBS"),
        namespaces=_patterns(values, "NAMESPACES"),
        paths=_patterns(values, "PATHS"),
        shadow=values["THROUGHLINE_SHADOW"],
        names=values["THROUGHLINE_NAMES"],
        indirect_columns=values["THROUGHLINE_INDIRECT_COLUMNS"],
        show_sql=values["THROUGHLINE_SHOW_SQL"],
        batch=values["THROUGHLINE_BATCH"],
        lookup=Lookup(
            search=values["THROUGHLINE_FIND_BY_SEARCH"],
            hits=values["THROUGHLINE_FOUND_HOURS"],
            misses=values["THROUGHLINE_MISSED_HOURS"],
        ),
        telemetry=TelemetrySettings(destination=values["THROUGHLINE_TELEMETRY"], connection_string=values[_INSIGHTS]),
    )


def _network(environment: Mapping[str, str]) -> Network:
    """As the usual variables say, which are no settings of ours: `HTTPS_PROXY`, `NO_PROXY`, `REQUESTS_CA_BUNDLE`."""
    folded = {name.lower(): value for name, value in sorted(environment.items()) if value}
    return Network(
        proxies={kind: folded[f"{kind}_proxy"] for kind in ("http", "https", "all", "no") if f"{kind}_proxy" in folded},
        authorities=folded.get("requests_ca_bundle", folded.get("curl_ca_bundle", "")),
    )


def _patterns(values: Mapping[str, Any], kind: str) -> Patterns:
    return Patterns(include=values[f"THROUGHLINE_INCLUDE_{kind}"], exclude=values[f"THROUGHLINE_EXCLUDE_{kind}"])


def _parsed(found: Mapping[str, str], *, catalog: bool) -> tuple[dict[str, Any], list[str]]:
    """The values of all settings that have one, and what is wrong with the others."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for setting in SETTINGS:
        text = setting.default
        if catalog or setting.of_receiver:
            text = found.get(setting.name) or text
        if text is None:
            if catalog:
                problems.append(f"{setting.name} is missing. {setting.meaning}")
            continue
        try:
            values[setting.name] = setting.parse(text)
        except (ValueError, OverflowError) as error:
            values[setting.name] = setting.default
            if catalog or not setting.forgiven:
                problems.append(f"{setting.name} is wrong: {error}. {setting.meaning}")
    return values, problems
