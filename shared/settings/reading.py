"""The only reader of the environment. It reports everything missing or wrong at once, with the step that mends it.

The functions put settings on record, so that commands publish by the same settings. A record maps the name of a
setting to its text, for each setting whose source is `SettingSource.RECORD`. It holds the content of the files of
names and of forwarding: a file's path means nothing on another machine.

Requests to this machine never go through a proxy: no proxy can reach what listens on another machine's loopback. The
usual variables decide (`HTTP_PROXY`, `NO_PROXY` …; in small letters they come first), and every client of this process
and of its children reads them: requests, urllib, Azure's SDKs. So the exception is put there, once.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from shared.errors import Misconfigured
from shared.settings.kinds import Setting, SettingSource, TextFile
from shared.settings.table import (
    DATA,
    DOCUMENT,
    ENDPOINT,
    FOREIGN_DEPTH,
    FORWARD,
    INSIGHTS,
    NAMES,
    SETTINGS,
    SHADOW,
    STORAGE,
    WATCH,
)
from shared.settings.values import (
    CanarySettings,
    CatalogSettings,
    ForwardSettings,
    Lookup,
    Network,
    Patterns,
    Settings,
    StorageSettings,
    TelemetrySettings,
    Times,
    WatchSettings,
)

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NO_PROXY = ("no_proxy", "NO_PROXY")
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})


def without_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables to add to an environment, by which loopback needs no proxy; none where there is no proxy."""
    if not any(value for name, value in environment.items() if name.lower() in _PROXIES):
        return {}
    exceptions = next((environment[name] for name in _NO_PROXY if environment.get(name)), "")
    hosts = [host.strip() for host in exceptions.split(",") if host.strip()]
    if "*" in hosts:
        return {}
    return dict.fromkeys(_NO_PROXY, ",".join(dict.fromkeys((*hosts, *_LOOPBACK))))


_FILES = frozenset({NAMES, FORWARD})
"""The files on record."""

RECORDED = {setting.name: setting for setting in SETTINGS if setting.source is SettingSource.RECORD}

_THEIR_NAMES = "of the functions"
_LONGEST_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A setting whose value differs between this environment and the functions."""

    name: str
    functions: str
    here: str

    def __str__(self) -> str:
        return f"{self.name}: the functions have {self.functions}, this shell has {self.here}"


def texts_to_record(environment: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, str]:
    """The texts that the functions put on record, given or default. `values` are the parsed ones."""
    texts = {name: environment.get(name) or setting.default or "" for name, setting in RECORDED.items()}
    return {**texts, **{name: values[name].text if values[name] else "" for name in _FILES}}


def recorded_value(setting: Setting, record: Mapping[str, str]) -> Any:
    """The value of a setting on record. Raises ValueError if this version can't read it."""
    text = record[setting.name]
    if setting.name in _FILES:
        return TextFile(place=_THEIR_NAMES, text=text) if text else None
    return setting.parse(text)


def check_record(record: Mapping[str, str]) -> None:
    """Raise Misconfigured if another version wrote the record and this one can't work by it."""
    unreadable = sorted(record.keys() - RECORDED.keys())
    for name in sorted(record.keys() & RECORDED.keys()):
        try:
            recorded_value(RECORDED[name], record)
        except ValueError:
            unreadable.append(name)
    if unreadable:
        raise Misconfigured(
            f"The functions are of another version: this one can't work by their {', '.join(unreadable)}. Install the"
            " version that is deployed"
        )


def differences(record: Mapping[str, str], environment: Mapping[str, str]) -> tuple[Difference, ...]:
    """The recorded settings to which this environment gives another value, without shadow mode, which holds if either
    side has it. A setting that is not set, or can't be read, is no difference.
    """
    differing = []
    for name, setting in RECORDED.items():
        own_text = environment.get(name)
        if not own_text or name == SHADOW or name not in record:
            continue
        try:
            own_value = setting.parse(own_text)
        except (ValueError, OverflowError):
            continue  # `load` names it
        if name in _FILES:
            own_text, differs = own_value.text, own_value.text != record[name]
        else:
            differs = own_value != recorded_value(setting, record)
        if differs:
            differing.append(Difference(name=name, functions=_shown(name, record[name]), here=_shown(name, own_text)))
    return tuple(differing)


def _shown(name: str, text: str) -> str:
    if not text:
        return "nothing"
    if name in _FILES:
        return f"a file of {len(text):,} characters (sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]})"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


_PLACES = (STORAGE, DATA, "THROUGHLINE_CATALOG_")


def named(environment: Mapping[str, str] | None = None, *, place: bool = False) -> bool:
    """Whether the environment names a Throughline: by any setting, or with `place` by one that says where it is."""
    variables = os.environ if environment is None else environment
    return any(setting.name in variables for setting in SETTINGS if not place or setting.name.startswith(_PLACES))


def differing(record: Mapping[str, str], environment: Mapping[str, str] | None = None) -> tuple[Difference, ...]:
    """The settings of the environment that differ from the functions' record. Raises Misconfigured if another version
    wrote the record and this one can't read it.
    """
    check_record(record)
    return differences(record, os.environ if environment is None else environment)


def reach_loopback_directly() -> None:
    """Change the environment of this process and its children so that loopback needs no proxy."""
    os.environ.update(without_proxy(os.environ))


def load(
    *,
    catalog: bool,
    environment: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
    record: Mapping[str, str] | None = None,
) -> Settings:
    """Load the settings from the environment.

    - `catalog`: whether the catalog is needed too. Without it only the receiver's settings are read; all others have
      their defaults.
    - `overrides`: texts that replace the environment's.
    - `record`: the functions' record, for a command. It is used where the environment has no text, and instead of
      `overrides`, except for the catalog's address. Shadow mode on record is always shadow mode here.

    Raises Misconfigured with all problems.
    """
    recorded = record or {}
    if environment is None:
        reach_loopback_directly()
    own_variables = os.environ if environment is None else environment
    variables = {
        **own_variables,
        **{name: text for name, text in (overrides or {}).items() if name == ENDPOINT or name not in recorded},
    }
    check_record(recorded)
    if SHADOW in recorded and recorded_value(RECORDED[SHADOW], recorded):
        variables[SHADOW] = recorded[SHADOW]
    values, problems = _parsed(variables, recorded, catalog=catalog)
    storage = _storage(values, _network(variables), problems)
    if values.get("THROUGHLINE_CATALOG_USER") and not values.get("THROUGHLINE_CATALOG_TOKEN"):
        problems.append("THROUGHLINE_CATALOG_USER needs a password: set THROUGHLINE_CATALOG_TOKEN to it")
    if problems:
        raise Misconfigured("The settings are not complete:\n" + "\n".join(f"  - {problem}" for problem in problems))
    return Settings(
        storage=storage,
        catalog=CatalogSettings(
            endpoint=values[ENDPOINT],
            user=values["THROUGHLINE_CATALOG_USER"],
            token=values["THROUGHLINE_CATALOG_TOKEN"],
            client_id=storage.client_id,
            rate=values["THROUGHLINE_MAX_CATALOG_RATE"],
            collection=values["THROUGHLINE_COLLECTION"],
            own_columns=values["THROUGHLINE_ATLAS_COLUMNS"],
            scope=values["THROUGHLINE_CATALOG_SCOPE"],
        )
        if catalog
        else None,
        times=Times(
            end_timeout=values["THROUGHLINE_RUN_TIMEOUT_MINUTES"],
            quiet=values["THROUGHLINE_APPLICATION_IDLE_MINUTES"],
            unseen=values["THROUGHLINE_STREAM_EDGE_DAYS"],
            archive_after=values["THROUGHLINE_ARCHIVE_AFTER_HOURS"],
            archive_keep=values["THROUGHLINE_ARCHIVE_RETENTION_DAYS"],
            keep_runs=values["THROUGHLINE_RUN_RETENTION_DAYS"],
        ),
        max_body_bytes=values["THROUGHLINE_MAX_BODY_BYTES"],
        redact=values["THROUGHLINE_REDACT"],
        operations_ignored=values["THROUGHLINE_OPERATIONS_IGNORE"],
        operations_kept=values["THROUGHLINE_OPERATIONS_KEEP"],
        jobs=_patterns(values, "JOBS"),
        namespaces=_patterns(values, "NAMESPACES"),
        paths=_patterns(values, "PATHS"),
        shadow=values[SHADOW],
        names=values[NAMES],
        indirect_columns=values["THROUGHLINE_INDIRECT_COLUMNS"],
        show_sql=values["THROUGHLINE_SHOW_SQL"],
        document=values[DOCUMENT],
        foreign_depth=values[FOREIGN_DEPTH],
        document_keep=values["THROUGHLINE_KEEP_DAYS"],
        batch=values["THROUGHLINE_MAX_BATCH"],
        lookup=Lookup(
            search=values["THROUGHLINE_FIND_BY_SEARCH"],
            hits=values["THROUGHLINE_FOUND_ASSET_CACHE_HOURS"],
            misses=values["THROUGHLINE_MISSING_ASSET_CACHE_HOURS"],
        ),
        telemetry=TelemetrySettings(destination=values["THROUGHLINE_TELEMETRY"], connection_string=values[INSIGHTS]),
        watch=WatchSettings(
            rules=values[WATCH],
            policy=values["THROUGHLINE_WATCH_POLICY"],
            every=timedelta(minutes=values["THROUGHLINE_WATCH_MINUTES"]),
            webhooks=values["THROUGHLINE_WATCH_WEBHOOKS"],
            secret=values["THROUGHLINE_WATCH_SECRET"],
        ),
        forward=ForwardSettings(
            rules=values[FORWARD],
            targets=values["THROUGHLINE_FORWARD_TARGETS"],
            tokens=values["THROUGHLINE_FORWARD_TOKENS"],
            own_hosts=_own_hosts(variables, values["THROUGHLINE_CANARY_URL"]),
        ),
        canary=CanarySettings(
            url=values["THROUGHLINE_CANARY_URL"],
            key=values["THROUGHLINE_CANARY_KEY"],
            scope=values["THROUGHLINE_CANARY_SCOPE"],
            every=timedelta(minutes=values["THROUGHLINE_CANARY_MINUTES"]),
        ),
        to_record=texts_to_record(variables, values) if catalog and not recorded else {},
    )


def _own_hosts(variables: Mapping[str, str], canary: str) -> frozenset[str]:
    """The hosts at which these functions are known to be: App Service names its own."""
    hosts = (variables.get("WEBSITE_HOSTNAME", ""), urlsplit(canary or "").netloc)
    return frozenset(host.lower() for host in hosts if host)


def _storage(values: Mapping[str, Any], network: Network, problems: list[str]) -> StorageSettings:
    """The account of the data if it is given, else the functions' own. Adds missing settings to `problems`."""
    host_names, data = (
        [f"{account}__{service}ServiceUri" for service in ("blob", "table")] for account in (STORAGE, DATA)
    )
    is_separate = any(values.get(name) for name in data)
    names = data if is_separate else host_names
    blobs, tables = (values.get(name) or "" for name in names)
    if is_separate and not (blobs and tables):
        problems.append(f"{data[0]} and {data[1]} belong together: set both, or neither")
    elif not (blobs and tables) and not values.get(STORAGE):
        problems.append(f"{STORAGE} (a connection string), or {host_names[0]} and {host_names[1]}, must be set")
    return StorageSettings(
        network=network,
        connection_string="" if is_separate else values.get(STORAGE) or "",
        blob_endpoint=blobs,
        table_endpoint=tables,
        client_id=values[f"{STORAGE}__clientId"],
    )


def _network(environment: Mapping[str, str]) -> Network:
    """The network by the usual variables, which are no settings of ours: `HTTPS_PROXY`, `NO_PROXY`,
    `REQUESTS_CA_BUNDLE`. Loopback needs no proxy.
    """
    variables = {**environment, **without_proxy(environment)}
    folded = {name.lower(): value for name, value in sorted(variables.items()) if value}
    return Network(
        proxies={kind: folded[f"{kind}_proxy"] for kind in ("http", "https", "all", "no") if f"{kind}_proxy" in folded},
        authorities=folded.get("requests_ca_bundle", folded.get("curl_ca_bundle", "")),
    )


def _patterns(values: Mapping[str, Any], kind: str) -> Patterns:
    return Patterns(include=values[f"THROUGHLINE_INCLUDE_{kind}"], exclude=values[f"THROUGHLINE_EXCLUDE_{kind}"])


def _parsed(
    variables: Mapping[str, str], record: Mapping[str, str], *, catalog: bool
) -> tuple[dict[str, Any], list[str]]:
    """The values of all settings, and the problems of those that have none."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for setting in SETTINGS:
        if setting.name in record and not variables.get(setting.name):
            values[setting.name] = recorded_value(setting, record)
            continue
        text = setting.default
        if catalog or setting.of_receiver:
            text = variables.get(setting.name) or text
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
