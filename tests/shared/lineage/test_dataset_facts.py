"""Declarations and quality tests of events in the document: owners, descriptions, tags, and failed tests."""

from datetime import UTC, datetime

from msgspec import structs

from shared.governance.propagation import origins_of
from shared.governance.rules import Selector, TagRule
from shared.lineage.building import KnownProcess, document_of
from shared.lineage.dataset_facts import with_facts
from shared.lineage.document import NOT_SET, FailedTest, SchemaChange, decoded, encoded
from shared.model import AssetSchema, Declared, Process
from tests.support.lineage import asset, document, edge, process

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)


def _declaring(name: str, reads: str, writes: str, table: str, *, owner: str = "", description: str = "") -> Process:
    """A process that declares something of a table."""
    declared = Declared(owner=owner, description=description)
    schema = AssetSchema(qualified_name=asset(table).qualified_name, columns=(("id", "int"),), declared=declared)
    return structs.replace(process(name, reads, writes, edge(f"{reads}.id", f"{writes}.id")), schemas=(schema,))


def test_owners_come_from_writers_and_from_readers_only_without_a_writer() -> None:
    lineage_document = document(
        _declaring("a_reads", "mid", "mart", "mid", owner="reader", description="Of a reader."),
        _declaring("b_writes", "raw", "mid", "mid", owner="writer"),
        _declaring("c_writes_too", "raw", "mid", "mid", owner="another"),
    )
    described = {dataset.name: (dataset.owner, dataset.description) for dataset in lineage_document.datasets}
    assert described == {"raw": ("", ""), "mid": ("writer", "Of a reader."), "mart": ("", "")}


def test_columns_remain_if_a_later_process_only_describes_the_data_set() -> None:
    described = AssetSchema(
        qualified_name=asset("mid").qualified_name, columns=(), declared=Declared(description="Orders.")
    )
    lineage_document = document_of(
        "record",
        [
            KnownProcess(process=_declaring("a_writes", "raw", "mid", "mid"), last=AT),
            KnownProcess(
                process=structs.replace(process("b_reads", "mid", "mart"), schemas=(described,)),
                last=AT.replace(day=24),
            ),
        ],
    )
    columns = {
        (lineage_document.datasets[column.dataset].name, column.name, column.type)
        for column in lineage_document.columns
    }
    assert ("mid", "id", "int") in columns
    assert {dataset.name: dataset.description for dataset in lineage_document.datasets}["mid"] == "Orders."


def test_tags_that_events_declare_of_columns_are_tags_of_the_document() -> None:
    tags = (("pii", "true", "mail"), ("domain", "sales", "id"), ("tier", "gold", ""))
    writer = _declaring("load", "raw", "mid", "mid")
    (schema,) = writer.schemas
    lineage_document = document(
        structs.replace(writer, schemas=(structs.replace(schema, declared=Declared(tags=tags)),))
    )
    assert [(lineage_document.columns[tag.column].name, tag.name) for tag in lineage_document.tags] == [
        ("id", "domain:sales"),
        ("mail", "pii"),
    ]
    rule = TagRule(classification="PII", where=Selector(), tag="pii")
    assert {lineage_document.columns[origin].name for origin in origins_of(lineage_document, rule, {})} == {"mail"}


def test_the_tag_of_a_data_set_counts_for_each_of_its_columns() -> None:
    writer = _declaring("load", "raw", "mid", "mid")
    (schema,) = writer.schemas
    declared = Declared(tags=(("tier", "gold", ""), ("pii", "true", "")))
    lineage_document = document(structs.replace(writer, schemas=(structs.replace(schema, declared=declared),)))
    assert {dataset.name: dataset.tags for dataset in lineage_document.datasets} == {
        "raw": (),
        "mid": ("pii", "tier:gold"),
    }
    rule = TagRule(classification="PII", where=Selector(), tag="tier:*")
    own_columns = {
        number
        for number, column in enumerate(lineage_document.columns)
        if lineage_document.datasets[column.dataset].name == "mid"
    }
    assert origins_of(lineage_document, rule, {}) == own_columns != set()


def test_a_past_process_declares_nothing() -> None:
    past_process = KnownProcess(process=_declaring("old", "raw", "mid", "mid", owner="gone"), current=False)
    assert [dataset.owner for dataset in document_of("lake", [past_process], history=()).datasets] == ["", ""]


def test_the_owner_of_a_job_is_that_of_its_process() -> None:
    job = process("load", "raw", "mid")
    owned = structs.replace(job, origin=structs.replace(job.origin, declared=Declared(owner="ann", description="D.")))
    assert [(lineage_process.owner, lineage_process.description) for lineage_process in document(owned).processes] == [
        ("ann", "D.")
    ]


def test_schema_changes_are_listed_with_their_data_sets_unless_those_are_unknown() -> None:
    lineage = document(process("load", "raw", "mid", edge("raw.id", "mid.id")))
    changes = [
        (asset("raw").qualified_name, SchemaChange(NOT_SET, "id", "retyped", AT, "int")),
        (asset("mid").qualified_name, SchemaChange(NOT_SET, "id", "added", AT, "", "int")),
        (asset("elsewhere").qualified_name, SchemaChange(NOT_SET, "id", "removed", AT)),
    ]
    with_changes = with_facts(lineage, schema_changes=[*changes, *reversed(changes)])
    assert with_changes.schema_changes == (
        SchemaChange(0, "id", "added", AT, "", "int"),
        SchemaChange(1, "id", "retyped", AT, "int"),
    )
    assert decoded(encoded(with_changes)) == with_changes


def test_failed_tests_are_listed_with_their_data_sets_unless_those_are_unknown() -> None:
    lineage = document(process("load", "raw", "mid", edge("raw.id", "mid.id")))
    failures = [
        (asset("raw").qualified_name, FailedTest(NOT_SET, "id", "unique", AT, "check")),
        (asset("mid").qualified_name, FailedTest(NOT_SET, "", "row_count", AT, "", "warn")),
        (asset("elsewhere").qualified_name, FailedTest(NOT_SET, "", "row_count", AT)),
    ]
    failing_lineage = with_facts(lineage, failed_tests=[*failures, *reversed(failures)])
    assert failing_lineage.failed_tests == (
        FailedTest(0, "", "row_count", AT, "", "warn"),
        FailedTest(1, "id", "unique", AT, "check"),
    )
    assert [lineage.datasets[failed_test.dataset].name for failed_test in failing_lineage.failed_tests] == [
        "mid",
        "raw",
    ]
    assert decoded(encoded(failing_lineage)) == failing_lineage
