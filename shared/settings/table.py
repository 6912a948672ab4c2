"""The table `SETTINGS`: all settings there are. Templates are tested against it.

`python -m shared.settings.table FILE` writes the table and the list of docs/reference/settings.md. Each stands between
two comments: `<!-- settings -->` … `<!-- /settings -->`, and the same with `sources`.
"""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from shared.settings.kinds import (
    Effect,
    Setting,
    SettingSource,
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
    tokens,
    whole,
    yes_or_no,
)

MAX_BODY_BYTES = 100 * 1024 * 1024
MAX_BATCH = 200
MAX_CALLS_PER_SECOND = 1000
MAX_WATCH_MINUTES = 7 * 24 * 60
MAX_CANARY_MINUTES = 24 * 60
MAX_FOREIGN_DEPTH = 20

STORAGE = "AzureWebJobsStorage"
ENDPOINT = "THROUGHLINE_CATALOG_ENDPOINT"
SHADOW = "THROUGHLINE_SHADOW"
NAMES = "THROUGHLINE_NAMES"
WATCH = "THROUGHLINE_WATCH"
FORWARD = "THROUGHLINE_FORWARD"
DOCUMENT = "THROUGHLINE_DOCUMENT"
FOREIGN_DEPTH = "THROUGHLINE_FOREIGN_DEPTH"
DATA = "THROUGHLINE_STORAGE"
"""Where the data is, for an app whose host keeps its own keys and leases in another account."""
INSIGHTS = "APPLICATIONINSIGHTS_CONNECTION_STRING"

of_shell = partial(Setting, source=SettingSource.SHELL)
on_record = partial(Setting, source=SettingSource.RECORD)
of_receiver = partial(Setting, source=SettingSource.NONE, of_receiver=True)
"""Settings by their source. That of the receiver alone has no other reader."""

SETTINGS: tuple[Setting, ...] = (
    of_shell(
        name=STORAGE,
        meaning="Connection string of the storage account, for local use (Azurite)",
        parse=connection,
        of_receiver=True,
    ),
    of_shell(
        name=f"{STORAGE}__clientId",
        meaning="Client id of the user-assigned identity; empty: the system-assigned one, or the signed-in user",
        of_receiver=True,
    ),
    *(
        of_shell(
            name=f"{account}__{service}ServiceUri",
            meaning=meaning.format(what=f"{service}s", service=service),
            parse=or_nothing(endpoint),
            of_receiver=True,
        )
        for account, meaning in (
            (STORAGE, "In Azure instead of a connection string: https://ACCOUNT.{service}.core.windows.net"),
            (DATA, "Endpoint of the {what} where another account than AzureWebJobsStorage holds the data"),
        )
        for service in ("blob", "table")
    ),
    on_record(
        name=ENDPOINT,
        default=None,
        meaning="Atlas v2 endpoint: https://ACCOUNT.purview.azure.com/datamap/api/atlas/v2",
        parse=endpoint,
    ),
    of_shell(
        name="THROUGHLINE_CATALOG_TOKEN",
        meaning="A fixed bearer token, for the local catalog; empty: Azure's default credential signs in",
    ),
    of_shell(
        name="THROUGHLINE_CATALOG_USER",
        meaning="For a plain Apache Atlas: the user. THROUGHLINE_CATALOG_TOKEN is then the password",
    ),
    of_shell(
        name="THROUGHLINE_CATALOG_SCOPE",
        meaning="OAuth scope of tokens, as https://purview.azure.net/.default; empty: that of the endpoint's cloud",
    ),
    on_record(
        name="THROUGHLINE_COLLECTION",
        meaning="Purview collection for new assets and processes, by the name in its address; empty: the root",
        parse=collection,
        effect=Effect.CREATED,
    ),
    of_receiver(
        name="THROUGHLINE_MAX_BODY_BYTES",
        default=str(64 * 1024 * 1024),
        meaning="The largest event that the receiver accepts",
        parse=whole("bytes", MAX_BODY_BYTES),
    ),
    of_receiver(
        name="THROUGHLINE_REDACT",
        default="false",
        meaning="Store events without SQL literals, values of Spark properties, query strings and the like",
        parse=yes_or_no,
        effect=Effect.EVENTS,
    ),
    on_record(
        name="THROUGHLINE_RUN_TIMEOUT_MINUTES",
        default="360",
        meaning="A run without an end is processed so long after its last event arrived; less than 10 acts as 10",
        parse=span("minutes"),
    ),
    on_record(
        name="THROUGHLINE_APPLICATION_IDLE_MINUTES",
        default="60",
        meaning="An application run without an end supersedes older ones after so long without an event",
        parse=span("minutes"),
        effect=Effect.PROCESSES,
    ),
    on_record(
        name="THROUGHLINE_STREAM_EDGE_DAYS",
        default="7",
        meaning="An edge that an application without an end does not repeat for so long is removed",
        parse=span("days"),
        effect=Effect.PROCESSES,
    ),
    on_record(
        name="THROUGHLINE_ARCHIVE_AFTER_HOURS",
        default="48",
        meaning="A run that is decided is closed, and its events are archived, so long after the last of them arrived;"
        " 0: never, then nothing is forgotten either",
        parse=span("hours", allows_zero=True),
    ),
    on_record(
        name="THROUGHLINE_ARCHIVE_RETENTION_DAYS",
        default="0",
        meaning="Archived events are deleted after so long; 0: never. Their lineage stays",
        parse=span("days", allows_zero=True),
    ),
    on_record(
        name="THROUGHLINE_RUN_RETENTION_DAYS",
        default="30",
        meaning="What became of a single run is forgotten so long after it was closed; its lineage and its counts stay",
        parse=span("days"),
    ),
    of_receiver(
        name="THROUGHLINE_OPERATIONS_IGNORE",
        meaning="Operations to ignore: nodes of Spark's job names with * and ?, separated by commas",
        parse=nodes,
        effect=Effect.EVENTS,
    ),
    of_receiver(
        name="THROUGHLINE_OPERATIONS_KEEP",
        meaning="Operations of which every event is kept, also where it would be ignored; written the same way",
        parse=nodes,
        effect=Effect.EVENTS,
    ),
    *(
        of_receiver(name=f"THROUGHLINE_{name}", meaning=meaning, parse=patterns, effect=Effect.EVENTS)
        for name, meaning in (
            ("INCLUDE_JOBS", "Keep only events of these jobs: patterns with * and ?, separated by commas"),
            ("EXCLUDE_JOBS", "Ignore events of these jobs, included or not"),
            ("INCLUDE_NAMESPACES", "Keep only events of jobs in these namespaces"),
            ("EXCLUDE_NAMESPACES", "Ignore events of jobs in these namespaces, included or not"),
        )
    ),
    *(
        on_record(name=f"THROUGHLINE_{name}", meaning=meaning, parse=patterns, effect=Effect.PROCESSES)
        for name, meaning in (
            ("INCLUDE_PATHS", "Publish only these data sets: patterns of paths or tables"),
            ("EXCLUDE_PATHS", "Do not publish these data sets, included or not"),
        )
    ),
    on_record(
        name=SHADOW,
        default="false",
        meaning="Shadow mode: do everything except catalog writes; `throughline shadow` lists what would be written",
        parse=yes_or_no,
    ),
    on_record(
        name=NAMES,
        meaning="File of naming rules, and of the ids of Fabric and Unity Catalog: TOML or JSON, at most 1 MiB",
        parse=file,
        effect=Effect.RUNS,
    ),
    on_record(
        name="THROUGHLINE_INDIRECT_COLUMNS",
        default="false",
        meaning="Also publish the columns that only filter, join or sort",
        parse=yes_or_no,
        effect=Effect.PROCESSES,
    ),
    on_record(
        name="THROUGHLINE_SHOW_SQL",
        default="false",
        meaning="End a process's description with the SQL of its last run, without literals",
        parse=yes_or_no,
        effect=Effect.PROCESSES,
    ),
    on_record(
        name="THROUGHLINE_ATLAS_COLUMNS",
        default="false",
        meaning="For a plain Apache Atlas: publish columns as entities, so that its lineage page shows them",
        parse=yes_or_no,
        effect=Effect.PROCESSES,
    ),
    on_record(
        name="THROUGHLINE_FIND_BY_SEARCH",
        default="true",
        meaning="Search the catalog for an asset where it has none of the expected names",
        parse=yes_or_no,
        effect=Effect.PROCESSES,
    ),
    on_record(
        name=DOCUMENT,
        default="false",
        meaning="Publish the lineage document for the page and the API at an address",
        parse=yes_or_no,
    ),
    on_record(
        name=FOREIGN_DEPTH,
        default="0",
        meaning="How many data sets away from ours the lineage of other programs (Power BI, Data Factory …) is read"
        " from the catalog into the lineage document; 0: none is read",
        parse=whole("data sets", MAX_FOREIGN_DEPTH, least=0),
    ),
    of_shell(
        name="THROUGHLINE_KEEP_DAYS",
        default="400",
        meaning="How long the document of each day is kept, for lineage as it was",
        parse=span("days"),
    ),
    of_shell(
        name="THROUGHLINE_FOUND_ASSET_CACHE_HOURS",
        default="168",
        meaning="How long the asset that was found for a data set is used before it is looked up again",
        parse=span("hours"),
    ),
    of_shell(
        name="THROUGHLINE_MISSING_ASSET_CACHE_HOURS",
        default="6",
        meaning="How long a data set without an asset keeps its placeholder before it is looked up again",
        parse=span("hours"),
    ),
    of_shell(
        name="THROUGHLINE_MAX_BATCH",
        default="50",
        meaning="Entities in one call to the catalog",
        parse=whole("entities", MAX_BATCH),
    ),
    of_shell(
        name="THROUGHLINE_MAX_CATALOG_RATE",
        default="20",
        meaning="Calls to the catalog in a second; 0: no bound",
        parse=rate("calls a second", MAX_CALLS_PER_SECOND),
    ),
    of_shell(
        name=WATCH,
        meaning="File of rules (TOML, at most 1 MiB) for `watch`, which announces changes; empty: no watch",
        parse=file,
    ),
    of_shell(
        name="THROUGHLINE_WATCH_POLICY",
        meaning="File of rules (TOML, at most 1 MiB) whose policies are gates: `watch` announces one that breaks",
        parse=file,
    ),
    of_shell(
        name="THROUGHLINE_WATCH_MINUTES",
        default="15",
        meaning="Time between two snapshots of lineage",
        parse=whole("minutes", MAX_WATCH_MINUTES),
    ),
    of_shell(
        name="THROUGHLINE_WATCH_WEBHOOKS",
        meaning="Addresses of webhooks by channel, as team=https://…, separated by spaces or line ends",
        parse=addresses,
    ),
    of_shell(
        name="THROUGHLINE_WATCH_SECRET",
        meaning="Secret that signs requests to webhooks; empty: they are not signed",
    ),
    on_record(
        name=FORWARD,
        meaning="File of targets and rules (TOML, at most 1 MiB) for runs that are forwarded; empty: none are",
        parse=file,
    ),
    of_shell(
        name="THROUGHLINE_FORWARD_TARGETS",
        meaning="Addresses of these targets, as marquez=https://…, separated by spaces or line ends",
        parse=addresses,
    ),
    of_shell(
        name="THROUGHLINE_FORWARD_TOKENS",
        meaning='Tokens of targets with `auth = "token"`, as marquez=TOKEN, separated by spaces or line ends',
        parse=tokens,
    ),
    of_shell(
        name="THROUGHLINE_CANARY_URL",
        meaning="The receiver's address, to which the sweeper sends a canary now and then; empty: it sends none",
        parse=or_nothing(endpoint),
    ),
    of_shell(
        name="THROUGHLINE_CANARY_KEY",
        meaning="The canary's function key",
    ),
    of_shell(
        name="THROUGHLINE_CANARY_SCOPE",
        meaning="For what the canary's token is asked, as api://CLIENT-ID/.default; empty: the receiver asks for none",
    ),
    of_shell(
        name="THROUGHLINE_CANARY_MINUTES",
        default="60",
        meaning="Time between two canaries",
        parse=whole("minutes", MAX_CANARY_MINUTES),
    ),
    of_shell(
        name="THROUGHLINE_TELEMETRY",
        default="off",
        meaning="Where spans and metrics go: off, console, otlp (a collector) or azure (Application Insights)",
        parse=one_of("off", "console", "otlp", "azure"),
        of_receiver=True,
        forgiven=True,
    ),
    of_shell(
        name=INSIGHTS,
        meaning="Connection string of Application Insights, for THROUGHLINE_TELEMETRY=azure; Azure sets it",
        of_receiver=True,
    ),
)


def settings_table() -> str:
    """A Markdown table with a line for each setting: name, default, bounds, meaning, and what a change touches."""
    lines = ["| setting | default | bounds | meaning | a change touches |", "|---|---|---|---|---|"]
    lines += [
        f"| `{setting.name}` | {_default(setting)} | {setting.bounds} | {setting.meaning} | {setting.effect.value} |"
        for setting in SETTINGS
    ]
    return "\n".join(lines)


def sources_list() -> str:
    """A Markdown list of the settings by where commands take them from: too many names for the cells of a table."""
    import textwrap  # noqa: PLC0415 - only the page needs it, and the receiver's start is short

    lines = ["Commands take settings from:", ""]
    for source in SettingSource:
        names = ", ".join(f"`{setting.name}`" for setting in SETTINGS if setting.source is source)
        item = f"- **{source.name.lower()}**, {source.value}. These are {names}"
        lines += textwrap.wrap(item, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _default(setting: Setting) -> str:
    return "required" if setting.default is None else f"`{setting.default}`" if setting.default else ""


def rendered(page: str) -> str:
    """The page with its tables as they are now. Raises ValueError where it lacks a table's comments."""
    tables: Mapping[str, str] = {"settings": settings_table(), "sources": sources_list()}
    for name, table in tables.items():
        opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
        if opening not in page or closing not in page:
            raise ValueError(f"the page lacks {opening} … {closing}, where the table belongs")
        head, tail = page.split(opening, maxsplit=1)[0], page.split(closing)[1]
        page = f"{head}{opening}\n\n{table}\n\n{closing}{tail}"
    return page


if __name__ == "__main__":
    page_file = Path(sys.argv[1])
    page_file.write_text(rendered(page_file.read_text()))
