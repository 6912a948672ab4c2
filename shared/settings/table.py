"""The table `SETTINGS`: all settings there are. `page.py` documents it, and templates are tested against it."""

from shared.settings.kinds import (
    addresses,
    collection,
    connection,
    endpoint,
    file,
    nodes,
    one_of,
    or_nothing,
    patterns,
    rate,
    span,
    whole,
    yes_or_no,
)
from shared.settings.setting import Effect, Setting, SettingSource

MAX_BODY_BYTES = 100 * 1024 * 1024
MAX_BATCH = 200
MAX_CALLS_PER_SECOND = 1000
MAX_WATCH_MINUTES = 7 * 24 * 60

STORAGE = "AzureWebJobsStorage"
ENDPOINT = "THROUGHLINE_CATALOG_ENDPOINT"
SHADOW = "THROUGHLINE_SHADOW"
NAMES = "THROUGHLINE_NAMES"
WATCH = "THROUGHLINE_WATCH"
DATA = "THROUGHLINE_STORAGE"
"""Where the data is, for an app whose host keeps its own keys and leases in another account."""
INSIGHTS = "APPLICATIONINSIGHTS_CONNECTION_STRING"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        name=STORAGE,
        meaning="Connection string of the storage account, for local use (Azurite)",
        source=SettingSource.SHELL,
        parse=connection,
        of_receiver=True,
    ),
    Setting(
        name=f"{STORAGE}__clientId",
        meaning="Client id of the user-assigned identity; empty: the system-assigned one, or the signed-in user",
        source=SettingSource.SHELL,
        of_receiver=True,
    ),
    *(
        Setting(
            name=f"{account}__{service}ServiceUri",
            meaning=meaning.format(what=f"{service}s", service=service),
            source=SettingSource.SHELL,
            parse=or_nothing(endpoint),
            of_receiver=True,
        )
        for account, meaning in (
            (STORAGE, "In Azure instead of a connection string: https://ACCOUNT.{service}.core.windows.net"),
            (DATA, "Endpoint of the {what} where another account than AzureWebJobsStorage holds the data"),
        )
        for service in ("blob", "table")
    ),
    Setting(
        name=ENDPOINT,
        default=None,
        meaning="Atlas v2 endpoint: https://ACCOUNT.purview.azure.com/datamap/api/atlas/v2",
        source=SettingSource.RECORD,
        parse=endpoint,
    ),
    Setting(
        name="THROUGHLINE_CATALOG_TOKEN",
        meaning="A fixed bearer token, for the local catalog; empty: Azure's default credential signs in",
        source=SettingSource.SHELL,
    ),
    Setting(
        name="THROUGHLINE_CATALOG_USER",
        meaning="For a plain Apache Atlas: the user. THROUGHLINE_CATALOG_TOKEN is then the password",
        source=SettingSource.SHELL,
    ),
    Setting(
        name="THROUGHLINE_CATALOG_SCOPE",
        meaning="OAuth scope of tokens, as https://purview.azure.net/.default; empty: that of the endpoint's cloud",
        source=SettingSource.SHELL,
    ),
    Setting(
        name="THROUGHLINE_COLLECTION",
        meaning="Purview collection for new assets and processes, by the name in its address; empty: the root",
        source=SettingSource.RECORD,
        parse=collection,
        effect=Effect.CREATED,
    ),
    Setting(
        name="THROUGHLINE_MAX_BODY_BYTES",
        default=str(64 * 1024 * 1024),
        meaning="The largest event that the receiver accepts",
        source=SettingSource.NONE,
        parse=whole("bytes", MAX_BODY_BYTES),
        of_receiver=True,
    ),
    Setting(
        name="THROUGHLINE_REDACT",
        default="false",
        meaning="Store events without SQL literals, values of Spark properties, query strings and the like",
        source=SettingSource.NONE,
        parse=yes_or_no,
        of_receiver=True,
        effect=Effect.EVENTS,
    ),
    Setting(
        name="THROUGHLINE_RUN_TIMEOUT_MINUTES",
        default="360",
        meaning="A run without an end is processed so long after its last event arrived; less than 10 acts as 10",
        source=SettingSource.RECORD,
        parse=span("minutes"),
    ),
    Setting(
        name="THROUGHLINE_APPLICATION_IDLE_MINUTES",
        default="60",
        meaning="An application run without an end supersedes older ones after so long without an event",
        source=SettingSource.RECORD,
        parse=span("minutes"),
        effect=Effect.PROCESSES,
    ),
    Setting(
        name="THROUGHLINE_STREAM_EDGE_DAYS",
        default="7",
        meaning="An edge that an application without an end does not repeat for so long is removed",
        source=SettingSource.RECORD,
        parse=span("days"),
        effect=Effect.PROCESSES,
    ),
    Setting(
        name="THROUGHLINE_ARCHIVE_AFTER_HOURS",
        default="48",
        meaning="A processed run is closed, and its events are archived, so long after its last event; 0: never",
        source=SettingSource.RECORD,
        parse=span("hours", never=True),
    ),
    Setting(
        name="THROUGHLINE_ARCHIVE_RETENTION_DAYS",
        default="0",
        meaning="Archived events are deleted after so long; 0: never. Their lineage stays",
        source=SettingSource.RECORD,
        parse=span("days", never=True),
    ),
    Setting(
        name="THROUGHLINE_OPERATIONS_IGNORE",
        meaning="Operations to ignore: nodes of Spark's job names with * and ?, separated by commas",
        source=SettingSource.NONE,
        parse=nodes,
        of_receiver=True,
        effect=Effect.EVENTS,
    ),
    Setting(
        name="THROUGHLINE_OPERATIONS_KEEP",
        meaning="Operations of which every event is kept, also where it would be ignored; written the same way",
        source=SettingSource.NONE,
        parse=nodes,
        of_receiver=True,
        effect=Effect.EVENTS,
    ),
    *(
        Setting(
            name=f"THROUGHLINE_{verb}_{kind}",
            meaning=meaning,
            source=SettingSource.RECORD if kind == "PATHS" else SettingSource.NONE,
            effect=Effect.PROCESSES if kind == "PATHS" else Effect.EVENTS,
            parse=patterns,
            of_receiver=True,
        )
        for verb, kind, meaning in (
            ("INCLUDE", "JOBS", "Keep only events of these jobs: patterns with * and ?, separated by commas"),
            ("EXCLUDE", "JOBS", "Ignore events of these jobs, included or not"),
            ("INCLUDE", "NAMESPACES", "Keep only events of jobs in these namespaces"),
            ("EXCLUDE", "NAMESPACES", "Ignore events of jobs in these namespaces, included or not"),
            ("INCLUDE", "PATHS", "Publish only these data sets: patterns of paths or tables"),
            ("EXCLUDE", "PATHS", "Do not publish these data sets, included or not"),
        )
    ),
    Setting(
        name=SHADOW,
        default="false",
        meaning="Shadow mode: do everything except catalog writes; `throughline shadow` lists what would be written",
        source=SettingSource.RECORD,
        parse=yes_or_no,
    ),
    Setting(
        name=NAMES,
        meaning="File of naming rules, and of the ids of Fabric and Unity Catalog: TOML or JSON, at most 1 MiB",
        source=SettingSource.RECORD,
        parse=file,
        effect=Effect.RUNS,
    ),
    Setting(
        name="THROUGHLINE_INDIRECT_COLUMNS",
        default="false",
        meaning="Also publish the columns that only filter, join or sort",
        source=SettingSource.RECORD,
        parse=yes_or_no,
        effect=Effect.PROCESSES,
    ),
    Setting(
        name="THROUGHLINE_SHOW_SQL",
        default="false",
        meaning="End a process's description with the SQL of its last run, without literals",
        source=SettingSource.RECORD,
        parse=yes_or_no,
        effect=Effect.PROCESSES,
    ),
    Setting(
        name="THROUGHLINE_ATLAS_COLUMNS",
        default="false",
        meaning="For a plain Apache Atlas: publish columns as entities, so that its lineage page shows them",
        source=SettingSource.RECORD,
        parse=yes_or_no,
        effect=Effect.PROCESSES,
    ),
    Setting(
        name="THROUGHLINE_FIND_BY_SEARCH",
        default="true",
        meaning="Search the catalog for an asset where it has none of the expected names",
        source=SettingSource.RECORD,
        parse=yes_or_no,
        effect=Effect.PROCESSES,
    ),
    Setting(
        name="THROUGHLINE_FOUND_ASSET_CACHE_HOURS",
        default="168",
        meaning="How long the asset that was found for a data set is used before it is looked up again",
        source=SettingSource.SHELL,
        parse=span("hours"),
    ),
    Setting(
        name="THROUGHLINE_MISSING_ASSET_CACHE_HOURS",
        default="6",
        meaning="How long a data set without an asset keeps its placeholder before it is looked up again",
        source=SettingSource.SHELL,
        parse=span("hours"),
    ),
    Setting(
        name="THROUGHLINE_MAX_BATCH",
        default="50",
        meaning="Entities in one call to the catalog",
        source=SettingSource.SHELL,
        parse=whole("entities", MAX_BATCH),
    ),
    Setting(
        name="THROUGHLINE_MAX_CATALOG_RATE",
        default="20",
        meaning="Calls to the catalog in a second; 0: no bound",
        source=SettingSource.SHELL,
        parse=rate("calls a second", MAX_CALLS_PER_SECOND),
    ),
    Setting(
        name=WATCH,
        meaning="File of rules (TOML, at most 1 MiB) for `watch`, which announces changes; empty: no watch",
        source=SettingSource.SHELL,
        parse=file,
    ),
    Setting(
        name="THROUGHLINE_WATCH_POLICY",
        meaning="File of rules (TOML, at most 1 MiB) whose policies are gates: `watch` announces one that breaks",
        source=SettingSource.SHELL,
        parse=file,
    ),
    Setting(
        name="THROUGHLINE_WATCH_MINUTES",
        default="15",
        meaning="How long after one look at all lineage the next is due",
        source=SettingSource.SHELL,
        parse=whole("minutes", MAX_WATCH_MINUTES),
    ),
    Setting(
        name="THROUGHLINE_WATCH_WEBHOOKS",
        meaning="Addresses of webhooks by channel, as team=https://…, separated by spaces or line ends",
        source=SettingSource.SHELL,
        parse=addresses,
    ),
    Setting(
        name="THROUGHLINE_WATCH_SECRET",
        meaning="Secret that signs requests to webhooks; empty: they are not signed",
        source=SettingSource.SHELL,
    ),
    Setting(
        name="THROUGHLINE_TELEMETRY",
        default="off",
        meaning="Where spans and metrics go: off, console, otlp (a collector) or azure (Application Insights)",
        source=SettingSource.SHELL,
        parse=one_of("off", "console", "otlp", "azure"),
        of_receiver=True,
        forgiven=True,
    ),
    Setting(
        name=INSIGHTS,
        meaning="Connection string of Application Insights, for THROUGHLINE_TELEMETRY=azure; Azure sets it",
        source=SettingSource.SHELL,
        of_receiver=True,
    ),
)
