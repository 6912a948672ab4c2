"""The table `SETTINGS` is the whole list; docs and templates are checked against it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from shared.settings.kinds import (
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


class Source(StrEnum):
    """Where a command takes a setting from, and why."""

    RECORD = "the functions' record: it decides what is published, or what is kept"
    SHELL = "its own environment: where things are, how to sign in, how fast and how often, what is reported"
    NONE = "nowhere: only the receiver reads it, before it stores an event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its name in the environment, its default (None: it has none), and what it is for.

    `source`: where a command takes it from. It has no default, so that every new setting has to be classified.
    `of_receiver`: whether the receiver looks at it. What it does not need must not keep it from taking events.
    `forgiven`: the receiver goes on with the default where it is wrong; the parser tells of it.
    """

    name: str
    default: str | None
    meaning: str
    source: Source
    parse: Callable[[str], Any] = str
    of_receiver: bool = False
    forgiven: bool = False


STORAGE = "AzureWebJobsStorage"
ENDPOINT = "THROUGHLINE_CATALOG_ENDPOINT"
SHADOW = "THROUGHLINE_SHADOW"
NAMES = "THROUGHLINE_NAMES"
DATA = "THROUGHLINE_STORAGE"
"""Where the data is, for an app whose host keeps its own keys and leases in another account."""
INSIGHTS = "APPLICATIONINSIGHTS_CONNECTION_STRING"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        name=STORAGE,
        default="",
        meaning="Connection string of the storage account: for local use (Azurite)",
        source=Source.SHELL,
        parse=connection,
        of_receiver=True,
    ),
    Setting(
        name=f"{STORAGE}__blobServiceUri",
        default="",
        meaning="In Azure instead of a connection string: https://ACCOUNT.blob.core.windows.net",
        source=Source.SHELL,
        parse=lambda text: endpoint(text) if text else "",
        of_receiver=True,
    ),
    Setting(
        name=f"{STORAGE}__tableServiceUri",
        default="",
        meaning="In Azure instead of a connection string: https://ACCOUNT.table.core.windows.net",
        source=Source.SHELL,
        parse=lambda text: endpoint(text) if text else "",
        of_receiver=True,
    ),
    Setting(
        name=f"{STORAGE}__clientId",
        default="",
        meaning="Client id of the user-assigned identity, if there is one",
        source=Source.SHELL,
        of_receiver=True,
    ),
    *(
        Setting(
            name=f"{DATA}__{service}ServiceUri",
            default="",
            meaning=f"Where the {what} are, if not in the account of AzureWebJobsStorage: the receiver's in Azure",
            source=Source.SHELL,
            parse=lambda text: endpoint(text) if text else "",
            of_receiver=True,
        )
        for service, what in (("blob", "blobs"), ("table", "tables"))
    ),
    Setting(
        name=ENDPOINT,
        default=None,
        meaning="Atlas v2 end point: https://ACCOUNT.purview.azure.com/datamap/api/atlas/v2",
        source=Source.RECORD,
        parse=endpoint,
    ),
    Setting(
        name="THROUGHLINE_CATALOG_TOKEN",
        default="",
        meaning="A fixed bearer token, for the local catalog; without it Azure's default credential is used",
        source=Source.SHELL,
    ),
    Setting(
        name="THROUGHLINE_CATALOG_USER",
        default="",
        meaning="For a plain Apache Atlas: who to be there. THROUGHLINE_CATALOG_TOKEN is then the password",
        source=Source.SHELL,
    ),
    Setting(
        name="THROUGHLINE_CATALOG_SCOPE",
        default="",
        meaning="For what a token is asked, as https://purview.azure.net/.default; empty: by the end point's cloud",
        source=Source.SHELL,
    ),
    Setting(
        name="THROUGHLINE_COLLECTION",
        default="",
        meaning="Purview's collection for our own assets and processes, by the name in its address; empty: the root",
        source=Source.RECORD,
        parse=collection,
    ),
    Setting(
        name="THROUGHLINE_MAX_BODY_BYTES",
        default=str(64 * 1024 * 1024),
        meaning="The largest event that is taken, in bytes",
        source=Source.NONE,
        parse=whole(100 * 1024 * 1024),
        of_receiver=True,
    ),
    Setting(
        name="THROUGHLINE_REDACT",
        default="false",
        meaning="Whether events are stored without literals in SQL, Spark's properties, query strings and the like",
        source=Source.NONE,
        parse=yes_or_no,
        of_receiver=True,
    ),
    Setting(
        name="THROUGHLINE_END_TIMEOUT_MINUTES",
        default="360",
        meaning="How long after its last event a run's end is waited for",
        source=Source.RECORD,
        parse=span(timedelta(minutes=1)),
    ),
    Setting(
        name="THROUGHLINE_QUIET_MINUTES",
        default="60",
        meaning="How long an application that has not ended must be quiet before it replaces older runs",
        source=Source.RECORD,
        parse=span(timedelta(minutes=1)),
    ),
    Setting(
        name="THROUGHLINE_UNSEEN_DAYS",
        default="7",
        meaning="How long an edge stays that an endless application does not repeat",
        source=Source.RECORD,
        parse=span(timedelta(days=1)),
    ),
    Setting(
        name="THROUGHLINE_ARCHIVE_AFTER_HOURS",
        default="48",
        meaning="How long a settled run is quiet before it is closed and its events are archived; 0: never",
        source=Source.RECORD,
        parse=lambda text: None if text == "0" else span(timedelta(hours=1))(text),
    ),
    Setting(
        name="THROUGHLINE_ARCHIVE_KEEP_DAYS",
        default="0",
        meaning="How long archived events are kept; 0: for ever. The lineage stays in any case",
        source=Source.RECORD,
        parse=lambda text: None if text == "0" else span(timedelta(days=1))(text),
    ),
    Setting(
        name="THROUGHLINE_OPERATIONS_IGNORE",
        default="",
        meaning="Operations whose runs are not wanted: nodes of Spark's job names, with * and ?, with commas between",
        source=Source.NONE,
        parse=nodes,
        of_receiver=True,
    ),
    Setting(
        name="THROUGHLINE_OPERATIONS_KEEP",
        default="",
        meaning="Operations of which every event is kept, whatever would be ignored otherwise: in the same way",
        source=Source.NONE,
        parse=nodes,
        of_receiver=True,
    ),
    *(
        Setting(
            name=f"THROUGHLINE_{verb}_{kind}",
            default="",
            meaning=meaning,
            source=Source.RECORD if kind == "PATHS" else Source.NONE,
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
        name=SHADOW,
        default="false",
        meaning="Whether all is done but writing to the catalog: what would be written is told by `throughline shadow`",
        source=Source.RECORD,
        parse=yes_or_no,
    ),
    Setting(
        name=NAMES,
        default="",
        meaning="The file of names, TOML or JSON: rules of one's own, and ids of Fabric and Unity Catalog",
        source=Source.RECORD,
        parse=file,
    ),
    Setting(
        name="THROUGHLINE_INDIRECT_COLUMNS",
        default="false",
        meaning="Whether filter, join and sort columns are shown in the catalog too",
        source=Source.RECORD,
        parse=yes_or_no,
    ),
    Setting(
        name="THROUGHLINE_SHOW_SQL",
        default="false",
        meaning="Whether a process's description ends with the SQL of its last run, without literals",
        source=Source.RECORD,
        parse=yes_or_no,
    ),
    Setting(
        name="THROUGHLINE_ATLAS_COLUMNS",
        default="false",
        meaning="For a plain Apache Atlas: whether columns are entities too, so that its own page shows their lineage",
        source=Source.RECORD,
        parse=yes_or_no,
    ),
    Setting(
        name="THROUGHLINE_FIND_BY_SEARCH",
        default="true",
        meaning="Whether assets that have none of the likely names are searched for in the catalog",
        source=Source.RECORD,
        parse=yes_or_no,
    ),
    Setting(
        name="THROUGHLINE_FOUND_HOURS",
        default="168",
        meaning="How long it is remembered which asset of the catalog a data set is",
        source=Source.SHELL,
        parse=span(timedelta(hours=1)),
    ),
    Setting(
        name="THROUGHLINE_MISSED_HOURS",
        default="6",
        meaning="How long it is remembered that no scan has found a data set; then it is looked for again",
        source=Source.SHELL,
        parse=span(timedelta(hours=1)),
    ),
    Setting(
        name="THROUGHLINE_BATCH",
        default="50",
        meaning="How many entities one call to the catalog holds",
        source=Source.SHELL,
        parse=whole(200),
    ),
    Setting(
        name="THROUGHLINE_CATALOG_RATE",
        default="20",
        meaning="How many calls a second the catalog gets at most; 0: as many as there are to make",
        source=Source.SHELL,
        parse=rate(1000),
    ),
    Setting(
        name="THROUGHLINE_TELEMETRY",
        default="off",
        meaning="Where spans and metrics go: off, console, otlp (to a collector) or azure (to Application Insights)",
        source=Source.SHELL,
        parse=one_of("off", "console", "otlp", "azure"),
        of_receiver=True,
        forgiven=True,
    ),
    Setting(
        name=INSIGHTS,
        default="",
        meaning="Connection string of Application Insights: for THROUGHLINE_TELEMETRY=azure; Azure sets it itself",
        source=Source.SHELL,
        of_receiver=True,
    ),
)
