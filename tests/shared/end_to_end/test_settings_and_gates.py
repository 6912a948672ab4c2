"""No setting makes a verdict better: what a filter takes out of sight is not known, and a renamed data set keeps its
rules.

Every setting that may remove or rename lineage is tried against every demand, through receiver, parser and publisher.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from shared.bootstrap import assemble
from shared.bootstrap_receiver import receiver_of
from shared.governance.checks.checking import DEMANDS, NOT_KNOWN, Result, check, exit_code
from shared.governance.checks.findings import Facts, Verdict
from shared.governance.rules_file import parse_policies
from shared.lineage.document import LineageDocument, encoded
from shared.query.recorded_document import judged_record
from shared.settings.kinds import Effect
from shared.settings.reading import load
from shared.settings.table import SETTINGS
from shared.storage.memory import MemoryStorage
from shared.storage_layout import stored_from_blob
from tests.support.building import IDENTITY, Json, body, dataset, packed, source
from tests.support.building import lineage as columns_of
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publishing import publish

NOW = datetime(2026, 12, 1, tzinfo=UTC)
BASE = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:1/api",
    "THROUGHLINE_CATALOG_TOKEN": "t",
}


def job(
    app: str,
    reads: Mapping[str, tuple[str, ...]],
    target_name: str,
    *lost_columns: str,
    minute: float,
    end: str = "COMPLETE",
) -> Iterator[Json]:
    """Both events of a job that copies columns of what it reads; `lost_columns`: columns that come from nowhere."""
    fields = {
        column: [source(source_name, column, IDENTITY)] for source_name, columns in reads.items() for column in columns
    }
    names = (*fields, *lost_columns)
    schema = {"fields": [{"name": name, "type": "string"} for name in names]}
    for kind, event_minute in (("START", minute), (end, minute + 0.5)):
        event = body(
            kind,
            run=f"{app}{minute}",
            application=f"{app}{minute}",
            app_name=app,
            job=f"execute_insert_into_hadoop_fs_relation_command.{target_name.rpartition('/')[2]}",
            minute=event_minute,
            inputs=[dataset(source_name, schema={"fields": schema["fields"][:1]}) for source_name in reads],
            outputs=[dataset(target_name, schema=schema, columnLineage=columns_of(fields))],
        )
        yield {**event, "job": {**event["job"], "namespace": app}}


PEOPLE, CLICKS, MID, TRAINING, REPORT, CLEAN = (
    f"/lake/{name}"
    for name in ("crm/people", "web/clicks", "mid/people", "training/features", "mart/report", "clean/t")
)
EVENTS = (
    *job("extract", {PEOPLE: ("email", "id")}, MID, minute=0),
    *job("extract", {PEOPLE: ("email", "id")}, MID, minute=60, end="FAIL"),
    *job("train", {MID: ("email", "id"), CLICKS: ("page",)}, TRAINING, "score", minute=10),
    *job("mart", {TRAINING: ("email", "page")}, REPORT, minute=20),
    *job("clean", {CLICKS: ("page",)}, CLEAN, minute=30),
)
"""Two steps from people and clicks to training data, one more to a report. The last run of `extract` failed."""
DEMAND: dict[str, str] = {
    "no_tag": 'no_tag = "PII"',
    "sources_only": 'sources_only = ["crm/*"]',
    "masked_by": 'masked_by = "*"',
    "fresh_within": 'fresh_within = "1h"',
    "every_input": 'every_input = "certified"',
    "no_failed_upstream": "no_failed_upstream = true",
    "traced": "traced = 100",
    "unchanged_since": "unchanged_since = 2026-01-01",
    "quality_passed": "quality_passed = true",
}
SUBJECTS = (
    'datasets = "training/*"',
    'datasets = ["training/*", "mart/*"]',
    'datasets = "training/*"\ncolumns = ["email", "page"]',
    'datasets = "mart/report"',
    'datasets = "mart/report"\ncolumns = "email"',
    'datasets = "mid/*"',
    'datasets = "clean/*"',
    'datasets = "*"',
    'columns = "email"',
)
RULES = """
[[tag]]
classification = "PII"
datasets = "crm/*"
columns = "email"
[[tag]]
classification = "PII"
datasets = "web/*"
columns = "nothing"
[[certified]]
datasets = ["mid/*", "crm/*"]
""" + "".join(
    f'[[policy]]\nname = "{demand} of {number}"\n{subject}\n{text}\n'
    for demand, text in DEMAND.items()
    for number, subject in enumerate(SUBJECTS)
)


def renamed(path: str, name: str) -> str:
    """A file of names with a rule for one data set."""
    return (
        f'[[rules]]\nrule = "r"\ntype = "DataSet"\nnamespace = "file"\nname = "{path}"\n'
        f'qualified_name = "{name}"\nexample = {{ namespace = "file", name = "{path}", qualified_name = "{name}" }}\n'
    )


EACH = (PEOPLE, CLICKS, MID, TRAINING, REPORT, CLEAN)
TRIED: dict[str, tuple[str, ...]] = {
    "THROUGHLINE_EXCLUDE_PATHS": (*EACH, f"{PEOPLE},{CLICKS}", f"{MID},{CLICKS}", "*/training/*,*/mart/*", "file://*"),
    "THROUGHLINE_INCLUDE_PATHS": (
        *EACH,
        f"{TRAINING},{MID}",
        f"{TRAINING},{REPORT}",
        f"{TRAINING},{PEOPLE}",
        "*/web/*,*/clean/*",
        f"{MID},{CLICKS},{REPORT}",
    ),
    "THROUGHLINE_EXCLUDE_JOBS": ("extract", "train", "mart", "clean", "extract,train"),
    "THROUGHLINE_INCLUDE_JOBS": ("extract", "train", "mart", "clean", "train,mart"),
    "THROUGHLINE_EXCLUDE_NAMESPACES": ("extract", "train", "mart", "clean", "t*,m*"),
    "THROUGHLINE_INCLUDE_NAMESPACES": ("extract", "train", "mart", "clean", "c*"),
    "THROUGHLINE_OPERATIONS_IGNORE": ("execute_insert*",),
    "THROUGHLINE_OPERATIONS_KEEP": ("execute_insert*",),
    "THROUGHLINE_NAMES": tuple(f"{path}={name}" for path in EACH for name in ("thing://a/b", "thing://other/email")),
    "THROUGHLINE_REDACT": ("true",),
    "THROUGHLINE_SHADOW": ("true",),
    "THROUGHLINE_INDIRECT_COLUMNS": ("true",),
    "THROUGHLINE_SHOW_SQL": ("true",),
    "THROUGHLINE_ATLAS_COLUMNS": ("true",),
    "THROUGHLINE_FIND_BY_SEARCH": ("false",),
    "THROUGHLINE_RUN_TIMEOUT_MINUTES": ("1", "100000"),
    "THROUGHLINE_APPLICATION_IDLE_MINUTES": ("1", "100000"),
    "THROUGHLINE_STREAM_EDGE_DAYS": ("1", "1000"),
}
"""Values of the settings that decide what is received, how runs are processed, or what is published."""
NO_LINEAGE = {
    "THROUGHLINE_COLLECTION": "where new assets are created, for Purview alone",
    "THROUGHLINE_MAX_BODY_BYTES": "an event above it is refused: the sender is told, and nothing is stored",
    "THROUGHLINE_ARCHIVE_AFTER_HOURS": "where events are kept",
    "THROUGHLINE_ARCHIVE_RETENTION_DAYS": "how long events are kept; their lineage stays",
    "THROUGHLINE_RUN_RETENTION_DAYS": "how long runs are told; their lineage stays",
    "THROUGHLINE_CATALOG_ENDPOINT": "which catalog",
    "THROUGHLINE_CATALOG_USER": "how to sign in",
    "THROUGHLINE_CATALOG_TOKEN": "how to sign in",
    "THROUGHLINE_CATALOG_SCOPE": "how to sign in",
    "THROUGHLINE_FOUND_ASSET_CACHE_HOURS": "when assets are looked up again",
    "THROUGHLINE_MISSING_ASSET_CACHE_HOURS": "when assets are looked up again",
    "THROUGHLINE_MAX_BATCH": "how the catalog is called",
    "THROUGHLINE_MAX_CATALOG_RATE": "how the catalog is called",
    "THROUGHLINE_WATCH": "who gets messages",
    "THROUGHLINE_WATCH_POLICY": "which policies are gates",
    "THROUGHLINE_WATCH_MINUTES": "when the watch looks",
    "THROUGHLINE_WATCH_WEBHOOKS": "who gets messages",
    "THROUGHLINE_WATCH_SECRET": "how messages are signed",
    "THROUGHLINE_FORWARD": "which runs are sent to whom",
    "THROUGHLINE_FORWARD_TARGETS": "to where",
    "THROUGHLINE_FORWARD_TOKENS": "how these are signed in",
    "THROUGHLINE_CANARY_URL": "where the timer sends events of its own, which are withdrawn",
    "THROUGHLINE_CANARY_KEY": "how these are signed in",
    "THROUGHLINE_CANARY_SCOPE": "how these are signed in",
    "THROUGHLINE_CANARY_MINUTES": "how often",
    "THROUGHLINE_DOCUMENT": "whether lineage is published as a document, too",
    "THROUGHLINE_FOREIGN_DEPTH": "what the document has beside the lineage of events",
    "THROUGHLINE_KEEP_DAYS": "how long the documents of earlier days are kept",
    "THROUGHLINE_TELEMETRY": "where spans go",
    "APPLICATIONINSIGHTS_CONNECTION_STRING": "where spans go",
}


def test_every_setting_is_tried_or_cannot_change_lineage() -> None:
    places = {
        setting.name for setting in SETTINGS if setting.name.startswith(("AzureWebJobsStorage", "THROUGHLINE_STORAGE"))
    }
    assert {setting.name for setting in SETTINGS} - places == TRIED.keys() | NO_LINEAGE.keys()
    changing = {setting.name for setting in SETTINGS if setting.effect not in {Effect.WORK, Effect.CREATED}}
    assert changing <= TRIED.keys()
    assert DEMAND.keys() == {str(demand) for demand in DEMANDS}


def judged(folder: Path, **settings: str) -> tuple[LineageDocument, tuple[Result, ...]]:
    """Receive, process and publish all events by these settings; the document and the verdicts."""
    loaded = load(catalog=True, environment={**BASE, **settings})
    storage = MemoryStorage()
    parts = assemble(loaded, storage=storage)
    receiver = receiver_of(loaded, storage)
    for event in EVENTS:
        receiver.receive(packed(event))
    for fact in list(storage.blobs("events")):
        parts.delivery.deliver(stored_from_blob(fact.name), storage.get("events", fact.name) or b"")
    publishing = replace(parts.publishing, now=lambda: NOW, parallel=type(parts.publishing.parallel)())
    publish(storage, MemoryCatalog(), publishing)
    document, excluded = judged_record(storage, publishing)
    rules = parse_policies(RULES, str(folder / "policy.toml"))
    return document, check(document, rules, Facts(now=NOW, excluded=excluded))


@cache
def unfiltered() -> tuple[Verdict, ...]:
    return tuple(result.verdict for result in judged(Path())[1])


def environment(folder: Path, name: str, value: str) -> dict[str, str]:
    if name != "THROUGHLINE_NAMES":
        return {name: value}
    (folder / "names.toml").write_text(renamed(*value.split("=")))
    return {name: str(folder / "names.toml")}


CASES = [(name, value) for name, values in TRIED.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=lambda setting_name: setting_name.removeprefix("THROUGHLINE_"))
def test_no_verdict_becomes_better(tmp_path: Path, name: str, value: str) -> None:
    _, results = judged(tmp_path, **environment(tmp_path, name, value))
    better = [
        f"{result.policy}: {verdict_before} → {result.verdict}"
        for verdict_before, result in zip(unfiltered(), results, strict=True)
        if result.verdict is Verdict.HOLDS and verdict_before is not Verdict.HOLDS
    ]
    assert better == []


def test_the_world_has_broken_and_held_policies_of_every_demand_of_the_record() -> None:
    """Else nothing above could fail."""
    verdicts_by_demand: dict[str, set[Verdict]] = {}
    _, results = judged(Path())
    for result in results:
        verdicts_by_demand.setdefault(result.policy.partition(" ")[0], set()).add(result.verdict)
    for demand in DEMAND.keys() - {"unchanged_since", "quality_passed"}:
        assert Verdict.BROKEN in verdicts_by_demand[demand], demand


@pytest.mark.parametrize("demand", ["no_tag", "traced", "masked_by", "sources_only", "every_input", "fresh_within"])
def test_an_excluded_source_leaves_a_policy_not_known(tmp_path: Path, demand: str) -> None:
    """Exit code 4, and the reason. The newcomer's case: the one source of a training table is excluded."""
    _, results = judged(tmp_path, THROUGHLINE_EXCLUDE_PATHS=f"{PEOPLE},{CLICKS}")
    policy_result = next(result for result in results if result.policy == f"{demand} of 5")
    assert exit_code((policy_result,)) == NOT_KNOWN or policy_result.verdict is Verdict.BROKEN
    if policy_result.verdict is Verdict.UNKNOWN:
        assert "a filter leaves out" in policy_result.text


def test_no_document_has_the_name_of_an_excluded_data_set(tmp_path: Path) -> None:
    document, _ = judged(tmp_path, THROUGHLINE_EXCLUDE_PATHS=f"{PEOPLE},{TRAINING}")
    assert b"crm/people" not in encoded(document)
    assert b"training" not in encoded(document)
