"""Events as stored with THROUGHLINE_REDACT: the same lineage, and no personal data."""

import base64
import gzip
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shared.applications.rows import run_of
from shared.naming.names import without_query
from shared.openlineage.decoding import Event, decode
from shared.redaction import redacted
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, RUN
from shared.translation.reference import translate_history
from shared.translation.sql.statement_reader import redact
from tests.support.building import body, dataset, lineage, packed, source
from tests.support.planted import SAS, SECRET, contains_secret, events
from tests.support.processing import deliver_blob
from tests.support.receiving import receive

ROOT = Path(__file__).parents[2]
GOLDEN = {f"{path.parts[-3]}/{path.parts[-2]}": path for path in sorted(ROOT.glob("tests/golden/*/*/events.jsonl"))}
MOST = 10**7

every_capture = pytest.mark.parametrize("path", GOLDEN.values(), ids=GOLDEN)


@cache
def _captured(path: Path) -> tuple[Event, ...]:
    return tuple(decode(line) for line in path.read_bytes().splitlines())


@cache
def _redacted(path: Path) -> tuple[bytes, ...]:
    return tuple(redacted(event) for event in _captured(path))


@every_capture
def test_redaction_keeps_the_lineage(path: Path) -> None:
    assert translate_history(map(decode, _redacted(path))) == translate_history(_captured(path))


@every_capture
def test_redacting_again_changes_nothing(path: Path) -> None:
    assert tuple(redacted(decode(raw)) for raw in _redacted(path)) == _redacted(path)


_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'")
_KEPT = {"spark.databricks.notebook.path", "spark.databricks.job.id", "mountPoints"}
_KEPT |= {f"spark.databricks.clusterUsageTags.{name}" for name in ("clusterAllTags", "clusterName")}


_KEPT_FACETS = {
    *("parent", "environment-properties", "processing_engine", "throughline_plan", "tags"),
    *("executionParameters", "jobDependencies", "dbt_run"),
}


@every_capture
def test_no_literal_and_no_property_is_stored(path: Path) -> None:
    for line, raw in zip(path.read_bytes().splitlines(), _redacted(path), strict=True):
        sent_event, stored = json.loads(line), json.loads(raw)
        query = stored["job"].get("facets", {}).get("sql", {}).get("query", "")
        assert set(_TEXT.findall(query)) <= {"?"}
        assert not re.search(r"(?<![\w`.\-/])[1-9]\d*(?![\w`\-/])", re.sub(r"`[^`]*`", "", query))
        facets = stored["run"].get("facets", {})
        assert set(facets) <= _KEPT_FACETS
        if plan := facets.get("throughline_plan", {}).get("plan"):
            literals = re.findall(r'\{"k":"Literal"[^}]*\}', gzip.decompress(base64.b64decode(plan)).decode())
            assert [
                literal for literal in literals if not re.fullmatch(r'\{"k":"Literal"(,"t":"[^"]*")?\}', literal)
            ] == []
        properties = stored["run"].get("facets", {}).get("environment-properties", {})
        assert set(properties.get("environment-properties", {})) <= _KEPT
        assert len(json.dumps(stored)) <= len(json.dumps(sent_event))


def test_a_repeated_post_changes_nothing_and_blobs_are_named_by_their_stored_bytes() -> None:
    storage = MemoryStorage()
    once = [receive(storage, raw, most_bytes=MOST, redact=redacted) for raw in events()]
    contents_before = {fact.name: storage.get(EVENTS, fact.name) for fact in storage.blobs(EVENTS)}
    second_answers = [receive(storage, raw, most_bytes=MOST, redact=redacted) for raw in events()]
    assert second_answers == once
    assert {fact.name: storage.get(EVENTS, fact.name) for fact in storage.blobs(EVENTS)} == contents_before
    assert len(contents_before) == 3
    for name, content in contents_before.items():
        stored = gzip.decompress(content or b"")
        assert not contains_secret(stored.decode())
        other = MemoryStorage()
        receive(other, stored, most_bytes=MOST)
        assert [fact.name for fact in other.blobs(EVENTS)] == [name], "stored bytes have the name of their own digest"


def test_omitted_parts_are_in_the_receipt_and_on_record() -> None:
    storage = MemoryStorage()
    receipts = [receive(storage, raw, most_bytes=MOST, redact=redacted) for raw in events()]
    assert [receipt.omitted for receipt in receipts] == [(), (), ("inputs[8]",), ()]
    for fact in list(storage.blobs("events")):
        deliver_blob(storage, fact.name)
    records = (run_of(row, storage) for row in storage.scan("applications") if row.key.startswith(RUN))
    assert [record.omitted for record in records if record.omitted] == [("inputs[8]",)]


def test_a_data_set_event_and_a_job_event_are_redacted_too() -> None:
    storage = MemoryStorage()
    dataset_event = {
        "eventTime": "2026-11-21T10:00:00Z",
        "dataset": dataset("/x", documentation={"description": SECRET}),
    }
    job = body(inputs=["/a"], outputs=[dataset("/b", columnLineage=lineage({"x": [source("/a", "x")]}))])
    job.pop("run")
    job["job"]["facets"]["sql"] = {"query": f"SELECT '{SECRET}' FROM a"}  # noqa: S608 - nobody runs it
    for document in (dataset_event, job):
        receive(storage, packed(document), most_bytes=MOST, redact=redacted)
    contents = [
        gzip.decompress(storage.get(container, fact.name) or b"")
        for container in ("events", "ignored")
        for fact in storage.blobs(container)
    ]
    assert len(contents) == 2
    assert not any(contains_secret(content.decode()) for content in contents)
    stored = decode(contents[0])
    expected = decode(packed(job))
    assert (stored.run_id, stored.time, stored.type) == (expected.run_id, expected.time, expected.type)
    assert decode(contents[1]).body is None


SPELLINGS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "signed": (("abfss://c@a.dfs.core.windows.net", "t?sv=1&sig=x"), ("abfss://c@a.dfs.core.windows.net", "t")),
    "options": (("https://h/api", "d?page=7&who=ann"), ("https://h/api", "d")),
    "of a server": (("postgres://h:5432?ssl=true&app=ann", "d.s.t"), ("postgres://h:5432", "d.s.t")),
    "of a store that no rule knows": (("vertica://h/db?ssl=true", "s.t"), ("vertica://h/db?ssl=true", "s.t")),
    "a path with a question mark": (("file", "/a?b/c=1/t"), ("file", "/a?b/c=1/t")),
    "none": (("file", "/a"), ("file", "/a")),
}


@pytest.mark.parametrize(("spelling", "expected"), SPELLINGS.values(), ids=SPELLINGS)
def test_query_strings_of_known_stores_are_removed(spelling: tuple[str, str], expected: tuple[str, str]) -> None:
    assert without_query(*spelling) == expected


READABLE: dict[str, tuple[str, str]] = {
    "texts and numbers": ("SELECT 'Ann', 12.5, -3 FROM t WHERE a = \"Bo\"", "SELECT '?', 0, -0 FROM t WHERE a = '?'"),
    "types": ("SELECT CAST(a AS DECIMAL(10, 2)), DATE '2026-11-21'", "SELECT CAST(a AS DECIMAL(0, 0)), DATE '?'"),
    "typed numbers": ("SELECT 10L, 1e3, x'FF'", "SELECT 0, 0, '?'"),
    "signed paths": (
        f"SELECT a FROM delta.`abfss://c@a.dfs.core.windows.net/t?{SAS}`",  # noqa: S608 - nobody runs it
        "SELECT a FROM delta.`abfss://c@a.dfs.core.windows.net/t`",
    ),
    "paths with a password": (
        f"SELECT a FROM parquet.`hdfs://ann:{SECRET}@h/t`",  # noqa: S608 - nobody runs it
        "SELECT a FROM parquet.`hdfs://h/t`",
    ),
    "local signed paths": (f"SELECT a FROM delta.`/a/b?{SAS}`", "SELECT a FROM delta.`/a/b`"),  # noqa: S608 - nobody runs it
    "names stay": ("SELECT a1, `a 2` FROM delta.`/a/b`", "SELECT a1, `a 2` FROM delta.`/a/b`"),
    "hints": ("SELECT /*+ REPARTITION(7), x('Ann') */ a FROM t", "SELECT a FROM t"),
    "not understood": ("SELECT 'Ann", ""),
}


@pytest.mark.parametrize(("sql", "expected"), READABLE.values(), ids=READABLE)
def test_readable_redaction_gives_a_statement_without_literals(sql: str, expected: str) -> None:
    assert redact(sql, readable=True) == expected
    assert redact(expected, readable=True) == expected


def test_sqlglot_is_imported_only_for_a_statement_that_is_redacted() -> None:
    code = """
import sys
from tests.support.receiving import receive
from shared.redaction import redacted
from shared.storage.memory import MemoryStorage
from tests.support.events import event
plain, sql = event("a", "START", "10:00:00", inputs=["/a"]), event("a", "START", "10:00:00", sql="SELECT 1 FROM t")
receive(MemoryStorage(), sql, most_bytes=10**6)
receive(MemoryStorage(), plain, most_bytes=10**6, redact=redacted)
assert "sqlglot" not in sys.modules
receive(MemoryStorage(), sql, most_bytes=10**6, redact=redacted)
assert "sqlglot" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


def test_redaction_keeps_the_properties_that_name_a_job() -> None:
    """Both the notebook and its substitutes: `test_redaction_keeps_the_lineage` has no Databricks of its own."""
    needed: dict[str, Any] = {
        "spark.databricks.notebook.path": "/Users/ann/etl",
        "spark.databricks.job.id": "7",
        "spark.databricks.clusterUsageTags.clusterName": "job-7-run-1-x",
        "spark.databricks.clusterUsageTags.clusterAllTags": json.dumps([{"key": "RunName", "value": "etl 2026-11-21"}]),
        "mountPoints": [{"mountPoint": "/mnt/x", "source": "wasbs://c@a.blob.core.windows.net/in"}],
        "spark.other": SECRET,
    }
    for missing in (None, *needed):
        properties = {name: value for name, value in needed.items() if name != missing}
        facets = {"environment-properties": {"environment-properties": properties}}
        columns = lineage({"x": [source("/mnt/x/a", "x", namespace="dbfs")]})
        out = dataset("/out", columnLineage=columns)
        raw = packed(body(inputs=[dataset("/mnt/x/a", "dbfs")], outputs=[out], run_facets=facets))
        stored = redacted(decode(raw))
        assert translate_history([decode(stored)]) == translate_history([decode(raw)])
        assert not contains_secret(stored.decode())


@pytest.mark.parametrize(
    "facets", [{"tags": {"tags": [{"key": "gold"}]}}, {"documentation": {}}, {"sourceCodeLocation": {}}], ids=str
)
def test_facets_without_their_texts_are_stored(facets: dict[str, Any]) -> None:
    event = body(inputs=["/in"], outputs=["/out"])
    event["job"]["facets"] = facets
    assert decode(redacted(decode(packed(event)))).body is not None
