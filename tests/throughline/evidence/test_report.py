"""`throughline report`: what it says of a class of data and of a data set, on which events it rests, and its check."""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replaced

from shared.events.archive import indexes_below
from shared.governance.propagation import propagate
from shared.governance.rules_file import parse_rules
from shared.lineage.graph import document_at
from shared.lineage.questions import LineageIndex
from shared.query.published_document import publish_document
from shared.records.publish_queue import clear_marks, document_marks
from shared.storage_layout import ARCHIVE, EVENTS, process_key
from shared.sweeping.closing import ClosingOptions
from shared.sweeping.sweep import SweepOptions, sweep
from tests.shared.applications.test_streams import LONG_STREAM, archived_stream
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source, step
from tests.support.cli import Parts
from tests.support.lineage_documents import NOW
from tests.support.lineage_documents import lineage as document_of
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.evidence.building import of_classification, of_dataset, process_keys, with_processes
from throughline.evidence.events import differences, events_of_processes
from throughline.evidence.rendering import CSV_COLUMNS, as_csv, as_html, report_in
from throughline.evidence.report import FORMAT, Part, Report, events_by_folder

MASKED = step("DIRECT", "TRANSFORMATION", masking=True)
RULES = """\
[[tag]]
classification = "PII"
datasets = "/raw/customer"
columns = "email"

[[mask]]
functions = "sha2"
author = "ann"
reason = "salted"
expires = 2099-01-01

[[declassify]]
classification = "PII"
datasets = "/gold/domains"
columns = "email"
author = "ben"
reason = "only the domain"
expires = 2099-01-01
"""
Columns = Mapping[str, tuple[str, Mapping[str, Any]]]


def written(parts: Parts, source_name: str, target: str, columns: Columns, minute: float) -> None:
    """A job that makes columns of `target`, each of a column of `source_name`; of no column it says nothing."""
    schema = {"fields": [{"name": name, "type": "string"} for name in columns]}
    edges = lineage(
        {
            name: [source(source_name, column, dict(transformation))]
            for name, (column, transformation) in columns.items()
        }
    )
    facets: dict[str, Any] = {"schema": schema, "columnLineage": edges} if columns else {}
    events = [
        body(
            kind,
            run=target,
            application=target,
            minute=minute,
            inputs=[source_name],
            outputs=[dataset(target, **facets)],
        )
        for kind in ("START", "COMPLETE")
    ]
    for place in post(parts.storage, *map(packed, events)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


@pytest.fixture
def parts() -> Parts:
    """An address goes on, is masked in two ways, is declassified; a job writes something of which nobody knows what."""
    loaded_parts = Parts()
    written(loaded_parts, "/crm/export", "/raw/customer", {"email": ("mail", IDENTITY)}, 0)
    written(
        loaded_parts, "/raw/customer", "/silver/customer", {"email": ("email", IDENTITY), "other": ("x", IDENTITY)}, 1
    )
    written(loaded_parts, "/silver/customer", "/gold/masked", {"email": ("email", MASKED)}, 2)
    hashed = {**IDENTITY, "description": "sha2(email, 256)"}
    written(loaded_parts, "/silver/customer", "/gold/hashed", {"key": ("email", hashed)}, 3)
    written(loaded_parts, "/silver/customer", "/gold/domains", {"email": ("email", IDENTITY)}, 4)
    written(loaded_parts, "/silver/customer", "/gold/unknown", {}, 5)
    return loaded_parts


@pytest.fixture
def rules(tmp_path: Path) -> str:
    (tmp_path / "rules.toml").write_text(RULES)
    return str(tmp_path / "rules.toml")


def always(moment: datetime) -> Callable[[], datetime]:
    """A clock that stands still."""
    return lambda: moment


def steps(report: Report, part: Part) -> list[str]:
    return [
        f"{step_.from_dataset}.{step_.from_column} > {step_.to_dataset}.{step_.to_column}".replace(
            "file://localhost", ""
        )
        for step_ in report.steps_of(part)
    ]


def reported(parts: Parts, folder: Path, *arguments: str) -> Report:
    """The report in the page that the command writes."""
    result = parts.run("report", *arguments, "--html", str(folder / "report.html"))
    assert result.exit_code == 0, result.output
    return report_in((folder / "report.html").read_text(), "report.html")


def test_a_classification_s_report_says_whence_whither_where_masked_and_what_is_not_known(
    parts: Parts, tmp_path: Path, rules: str
) -> None:
    report = reported(parts, tmp_path, "--classification", "PII", "--rules", rules)
    (begin,) = report.beginnings
    assert (begin.dataset.endswith("/raw/customer"), begin.column) == (True, "email")
    assert begin.said_by == "by hand: rules.toml, line 1"
    facts = {
        part: [re.sub(r"\S*?(/(crm|raw|silver|gold))", r"\1", line) for line in steps(report, part)] for part in Part
    }
    assert facts == {
        Part.SOURCE: ["/crm/export.mail > /raw/customer.email"],
        Part.TARGET: ["/raw/customer.email > /silver/customer.email"],
        Part.MASKED: [
            "/silver/customer.email > /gold/hashed.key",
            "/silver/customer.email > /gold/masked.email",
        ],
        Part.DECLASSIFIED: ["/silver/customer.email > /gold/domains.email"],
        Part.OPAQUE: [],
    }
    assert [masked.mask for masked in report.steps_of(Part.MASKED)] == [
        "by hand: line 6, ann until 2099-01-01: salted",
        "OpenLineage's event",
    ]
    assert {masked.said_by for masked in report.steps} == {"the listener"}
    assert [(gap.dataset.rpartition("/")[2], gap.column, gap.reason) for gap in report.unknown] == [
        ("unknown", "", "no column of it is known"),
        ("customer", "x", "its source is not known"),
        ("customer", "other", "a value of a column whose source is not known reaches it"),
    ]
    assert any("Declassified by ben until 2099-01-01 (line 12, only the domain)" in text for text in report.remarks)


def test_a_data_set_s_report_has_what_is_masked_too_and_tables_without_columns(parts: Parts, tmp_path: Path) -> None:
    report = reported(parts, tmp_path, "--dataset", "silver/customer")
    assert report.subject.endswith("/silver/customer")
    assert len(report.beginnings) == 2
    assert len(report.steps_of(Part.SOURCE)) == 3, "two columns, and what the first one comes from"
    assert [masked.to_dataset.rpartition("/")[2] for masked in report.steps_of(Part.MASKED)] == ["masked"]
    tables = [target for target in report.steps_of(Part.TARGET) if target.kind == "table"]
    assert [table.to_dataset.rpartition("/")[2] for table in tables] == ["unknown"]
    assert [(gap.dataset.rpartition("/")[2], gap.column) for gap in report.unknown] == [
        ("unknown", ""),
        ("customer", "x"),
    ]


def test_without_rules_a_classification_begins_where_a_tag_is(parts: Parts, tmp_path: Path) -> None:
    tags = {"tags": [{"key": "PII", "value": "true", "field": "mail"}]}
    fields = lineage({"kept": [source("/crm/export", "mail", IDENTITY)]})
    event = body(
        run="t",
        application="t",
        inputs=[dataset("/crm/export", tags=tags)],
        outputs=[dataset("/raw/kept", columnLineage=fields)],
        minute=9,
    )
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    report = reported(parts, tmp_path, "--classification", "PII")
    assert [(begin.column, begin.said_by) for begin in report.beginnings] == [
        ("mail", "the tag PII, of an event or of `classify apply`")
    ]
    assert {target.to_column for target in report.steps_of(Part.TARGET)} == {"email", "kept", "key"}, "no rule masks"
    empty_result = parts.run("report", "--classification", "GDPR")
    assert empty_result.exit_code == 0
    assert "it begins in no column: name the rules file that says where it begins by --rules" in " ".join(
        empty_result.output.split()
    )


def test_a_report_rests_on_the_events_of_the_runs_that_contribute_and_its_check_reads_them(
    parts: Parts, tmp_path: Path, rules: str
) -> None:
    report = reported(parts, tmp_path, "--classification", "PII", "--rules", rules)
    assert report.number_of_events == 10, "a START and a COMPLETE of each of five jobs: nothing went by the sixth"
    assert [process.events for process in report.processes] == [2] * 5
    stored = {fact.name for fact in parts.storage.blobs(EVENTS)}
    assert {f"{folder}/{name}.json.gz" for folder, names in report.events.items() for name in names} < stored
    result = parts.run("report", "--check", str(tmp_path / "report.html"))
    assert (result.exit_code, result.output.strip()) == (
        0,
        f"10 events stored as received; digest {report.digest} as on the page",
    )


def archived(parts: Parts) -> None:
    """Close all runs, and move their events into the archive."""
    later_moment = datetime.now(UTC) + timedelta(days=10)
    closing = ClosingOptions(quiet=timedelta(hours=1))
    for minutes in (0, 20, 40):
        clear_marks(parts.storage, document_marks(parts.storage))
        moment = later_moment + timedelta(minutes=minutes)
        sweep(parts.storage, SweepOptions(closing=closing, now=always(moment)))
    assert list(parts.storage.blobs(EVENTS)) == []


def test_the_same_events_are_found_in_the_archive(parts: Parts, tmp_path: Path, rules: str) -> None:
    report = reported(parts, tmp_path, "--classification", "PII", "--rules", rules)
    archived(parts)
    assert parts.run("report", "--check", str(tmp_path / "report.html")).exit_code == 0
    second_report = reported(parts, tmp_path, "--classification", "PII", "--rules", rules)
    assert (second_report.events, second_report.digest) == (report.events, report.digest)


def test_events_of_forgotten_runs_are_listed_too(parts: Parts, tmp_path: Path, rules: str) -> None:
    report = reported(parts, tmp_path, "--classification", "PII", "--rules", rules)
    archived(parts)
    closing = ClosingOptions(quiet=timedelta(hours=1), keep_runs=timedelta(days=1))
    later_moment = datetime.now(UTC) + timedelta(days=100)
    for days in range(4):
        moment = later_moment + timedelta(days=days)
        sweep(parts.storage, SweepOptions(closing=closing, now=always(moment)))
    assert not [row for row in parts.storage.scan("applications") if row.key.startswith("run|")]
    second_report = reported(parts, tmp_path, "--classification", "PII", "--rules", rules)
    assert (second_report.events, second_report.digest) == (report.events, report.digest)


def test_a_stream_rests_on_all_of_its_events_although_its_record_refers_to_few() -> None:
    runtime = archived_stream(max_references=5)
    (name,) = runtime.catalog.processes
    key = process_key(name)
    events = events_of_processes(runtime.storage, [key])
    assert len(events[key]) == len(LONG_STREAM)
    assert list(differences(runtime.storage, events_by_folder(events[key]))) == []
    half = min(events[key], key=lambda event: event.time).time + timedelta(minutes=10)
    assert len(events_of_processes(runtime.storage, [key], until=half)[key]) == 11


def test_a_check_names_what_is_missing_changed_or_damaged(parts: Parts, tmp_path: Path) -> None:
    report = reported(parts, tmp_path, "--dataset", "silver/customer")
    first, second, third, *_ = [f"{folder}/{name}" for folder, names in report.events.items() for name in names]
    for blob, content in ((first, None), (second, gzip.compress(b"{}")), (third, b"no gzip")):
        parts.storage.delete_blob(EVENTS, f"{blob}.json.gz")
        if content is not None:
            parts.storage.put_new(EVENTS, f"{blob}.json.gz", content)
    result = parts.run("report", "--check", str(tmp_path / "report.html"))
    assert result.exit_code == 3
    assert sorted(map(str.strip, result.output.split("\n")[1:-1])) == sorted(
        [f"{first}: missing", f"{second}: not the bytes that were received", f"{third}: damaged"]
    )


def test_a_check_names_a_damaged_file_of_the_archive(parts: Parts, tmp_path: Path) -> None:
    reported(parts, tmp_path, "--dataset", "silver/customer")
    archived(parts)
    for file, _ in list(indexes_below(parts.storage, "")):
        content = parts.storage.get(ARCHIVE, file) or b""
        parts.storage.delete_blob(ARCHIVE, file)
        parts.storage.put_new(ARCHIVE, file, content[: len(content) // 3])
    result = parts.run("report", "--check", str(tmp_path / "report.html"))
    assert result.exit_code == 3
    assert "restore it from a copy of the account" in result.output


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Where it went", "Where it never went", "the page does not show what its facts say: it was changed"),
        ('"kind":"data set"', '"kind":"table"', "the page does not show what its facts say: it was changed"),
        ("_COMPLETE_", "_FAIL_", "the list of events in the page is not the one of its digest"),
    ],
)
def test_a_changed_page_is_recognised(parts: Parts, tmp_path: Path, old: str, new: str, problem: str) -> None:
    reported(parts, tmp_path, "--dataset", "silver/customer")
    page = tmp_path / "report.html"
    assert old in page.read_text()
    page.write_text(page.read_text().replace(old, new))
    result = parts.run("report", "--check", str(page))
    assert result.exit_code == 3
    assert problem in result.output


def test_a_page_of_another_version_is_checked_without_its_looks(parts: Parts, tmp_path: Path) -> None:
    report = reported(parts, tmp_path, "--dataset", "silver/customer")
    page = tmp_path / "report.html"
    page.write_text(page.read_text().replace(f'"version":"{report.version}"', '"version":"0.0.9"') + "<!-- other -->")
    result = parts.run("report", "--check", str(page))
    assert result.exit_code == 0
    assert "Throughline 0.0.9 has written it" in result.output


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("<html>", "is no report of"),
        ('<script type="application/json" id="facts">{}</script>', "can't be read"),
        ("\udcff", "is no page of UTF-8"),
    ],
)
def test_a_check_of_another_file_says_what_is_wrong(parts: Parts, tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "page.html").write_bytes(text.encode(errors="surrogateescape"))
    result = parts.run("report", "--check", str(tmp_path / "page.html"))
    assert result.exit_code == 2
    assert error in result.output


def test_a_later_format_is_refused_with_the_version_that_reads_it() -> None:
    report = Report(
        format=FORMAT + 1, version="9.0", kind="data set", subject="a", as_of="", made="", source="the record"
    )
    with pytest.raises(Exception, match=r"check it with Throughline 9\.0"):
        report_in(as_html(report), "page.html")


def test_the_page_escapes_every_name_and_loads_nothing(parts: Parts, tmp_path: Path) -> None:
    name = "</script><img src=x onerror=alert(1)>\u202e&\x1b"
    written(parts, "/silver/customer", f"/gold/{name}", {name: ("email", IDENTITY)}, 7)
    reported(parts, tmp_path, "--dataset", "silver/customer")
    page = (tmp_path / "report.html").read_text()
    assert "<img" not in page
    assert page.count("</script>") == 1
    assert not {"\u202e", "\x1b"} & set(page)
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\\u202e&amp;\\x1b" in page
    assert not re.search(r"(?:src|href)\s*=\s*[\"']", page)
    assert "default-src 'none'" in page


def test_the_table_has_a_row_for_each_fact_and_no_formula(parts: Parts, tmp_path: Path, rules: str) -> None:
    written(parts, "/raw/customer", "/gold/sheet", {"=1+1": ("email", IDENTITY)}, 7)
    place = tmp_path / "report.csv"
    result = parts.run("report", "--classification", "PII", "--rules", rules, "--csv", str(place))
    assert result.exit_code == 0, result.output
    head, *rows = csv.reader(io.StringIO(place.read_bytes().decode()))
    assert tuple(head) == CSV_COLUMNS
    table = [dict(zip(head, row, strict=True)) for row in rows]
    assert [row["part"] for row in table] == [
        "begins",
        "came from",
        "declassified",
        "masked",
        "masked",
        "went to",
        "went to",
        "not known",
        "not known",
        "not known",
    ]
    assert "'=1+1" in {row["to_column"] for row in table}
    assert not [value for row in table for value in row.values() if value.startswith(("=", "+", "-", "@"))]
    assert len({row["digest_of_events"] for row in table}) == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "ask for one"),
        (("--classification", "PII", "--dataset", "x"), "ask for one"),
        (("--classification", "PIX", "--rules", "RULES"), "has no classification PIX. Did you mean PII?"),
        (("--dataset", "silver/customer", "--as-of", "2999-01-01"), "lies in the future"),
        (("--check", "gone.html"), "gone.html can't be read: No such file"),
    ],
)
def test_a_wrong_question_is_answered_with_what_to_do(
    parts: Parts, rules: str, arguments: tuple[str, ...], error: str
) -> None:
    result = parts.run("report", *(rules if word == "RULES" else word for word in arguments))
    assert result.exit_code == 2
    assert error in " ".join(result.output.split())


def test_without_published_documents_an_earlier_time_needs_a_lake(parts: Parts) -> None:
    result = parts.run("report", "--dataset", "silver/customer", "--as-of", "2020-01-01")
    assert result.exit_code == 1
    assert "no document is published yet" in " ".join(result.output.split())


def test_an_earlier_time_is_that_of_the_document_published_by_then(parts: Parts, tmp_path: Path) -> None:
    days = [datetime(2026, 11, day, 12, tzinfo=UTC) for day in (20, 22)]
    for number, day in enumerate(days):
        if number:
            written(parts, "/silver/customer", "/gold/late", {"email": ("email", IDENTITY)}, 8)
        options = replace(parts.worker.publishing, now=always(day))
        assert publish_document(parts.storage, options, timedelta(days=30))["document_published"]
    targets = {}
    for time in ("2026-11-21", "2026-11-22T01:00"):
        report = reported(parts, tmp_path, "--dataset", "silver/customer", "--as-of", time)
        targets[time] = {target.to_dataset.rpartition("/")[2] for target in report.steps_of(Part.TARGET)}
        assert report.source == "the record, as it was published"
        assert report.as_of == f"{time[:10]}T23:59:59+00:00"
    assert targets["2026-11-22T01:00"] - targets["2026-11-21"] == {"late"}


def test_a_lake_s_history_has_steps_of_a_time() -> None:
    document = document_of("raw.a -> gold.a by old until 3", "raw.a -> mart.a by new since 1")
    empty = Report(format=FORMAT, version="1", kind="classification", subject="PII", as_of="", made="", source="lake")
    rules = parse_rules('[[tag]]\nclassification = "PII"\ndatasets = "raw"\n', "rules.toml")
    written_to = {}
    for days in (0, 5):
        past_document = document_at(document, NOW - timedelta(days=days))
        propagation = propagate(past_document, rules, today=date(2026, 1, 1))["PII"]
        report = of_classification(empty, propagation, rules, date(2026, 1, 1))
        written_to[days] = [target.to_dataset for target in report.steps_of(Part.TARGET)]
    assert written_to == {0: ["abfss://lake/mart"], 5: ["abfss://lake/gold"]}


def test_who_says_so_is_the_plan_the_sql_text_or_the_listener() -> None:
    document = document_of("raw.a -> gold.a by exactly", "raw.b -> gold.b by parsed", "raw.c -> gold.c by heard")
    processes = tuple(
        replaced(process, exact=True) if process.name == "exactly" else process for process in document.processes
    )
    edges = tuple(
        replaced(edge, parsed=True) if processes[edge.process].name == "parsed" else edge for edge in document.edges
    )
    index = LineageIndex(replaced(document, processes=processes, edges=edges))
    rules = parse_rules("", "rules.toml")
    empty = Report(format=FORMAT, version="1", kind="data set", subject="", as_of="", made="", source="record")
    report = of_dataset(empty, index, index.datasets["abfss://lake/gold"], rules, date(2026, 1, 1))
    assert [source_.said_by for source_ in report.steps_of(Part.SOURCE)] == [
        "Spark's plan",
        "the SQL text",
        "the listener",
    ]
    full_report = with_processes(report, index.document, None)
    assert "not listed" in full_report.remarks[0]
    assert report_in(as_html(full_report), "page") == full_report
    rows = (*full_report.beginnings, *full_report.steps, *full_report.unknown)
    assert as_csv(full_report).count("\r\n") == 1 + len(rows)


def test_what_another_program_wrote_to_the_catalog_is_followed_and_said_so(parts: Parts) -> None:
    document = document_of("raw.a -> gold.a by load", "gold.a -> report.Total by refresh")
    processes = tuple(
        replaced(process, catalog_type="powerbi_report_process") if process.name == "refresh" else process
        for process in document.processes
    )
    document = replaced(document, processes=processes)
    rules = parse_rules('[[tag]]\nclassification = "PII"\ndatasets = "raw"\n', "rules.toml")
    empty = Report(format=FORMAT, version="1", kind="classification", subject="PII", as_of="", made="", source="record")
    propagation = propagate(document, rules, today=date(2026, 1, 1))["PII"]
    report = of_classification(empty, propagation, rules, date(2026, 1, 1))
    assert [(target.to_column, target.said_by) for target in report.steps_of(Part.TARGET)] == [
        ("Total", "the catalog, where another program wrote it (powerbi_report_process)"),
        ("a", "the listener"),
    ]
    events = events_of_processes(parts.storage, process_keys(report))
    assert with_processes(report, document, events).remarks == (
        "No stored event was found of 1 of the processes: their digest is empty.",
        "1 of the processes are other programs', by the catalog: no event has them.",
    )


def test_equal_lineage_gives_equal_pages(parts: Parts, tmp_path: Path) -> None:
    report = reported(parts, tmp_path, "--dataset", "silver/customer")
    assert as_html(report) == (tmp_path / "report.html").read_text()
    assert json.loads(re.search(r'id="facts">(.*?)</script>', as_html(report))[1])["subject"] == report.subject  # type: ignore[index]  # it is there


def test_a_record_without_lineage_says_so(tmp_path: Path) -> None:
    result = Parts().run("report", "--dataset", "x", "--html", str(tmp_path / "x.html"))
    assert result.exit_code == 1
    assert "there is no lineage yet" in result.output
