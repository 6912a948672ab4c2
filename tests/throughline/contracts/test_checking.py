"""`throughline contract check`: every kind of breach is found and named, with the line of the promise."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from shared.errors import Misconfigured
from shared.governance.checks.findings import Facts, QualityAssertion, Verdict
from shared.lineage.document import LineageDocument
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.cli import Parts
from tests.support.lineage_documents import NOW, Job
from tests.support.lineage_documents import lineage as document_of
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.contracts.checking import check_contract, same_type
from throughline.contracts.reading import PromisedColumn, parse_contract

HEAD = "apiVersion: v3.1.0\nkind: DataContract\nid: orders-contract\nname: orders\nversion: 1.0.0\nstatus: active\n"
SCHEMA = """\
schema:
  - name: orders
    physicalName: gold
    properties:
      - name: id
        logicalType: integer
        required: true
        unique: true
      - {name: amount, physicalType: "decimal(10,2)", quality: [{metric: nullValues, mustBe: 0}]}
slaProperties:
  - {property: latency, value: 1, unit: d, element: orders.id}
"""
TYPES = {"id": "long", "amount": "decimal(12,2)"}
PASSED = (
    QualityAssertion(name="not_null/not_null_gold_amount", success=True, column="amount"),
    QualityAssertion(name="unique/unique_gold_id", success=True, column="id"),
)
ARROWS = ("raw.id -> gold.id by make", "raw.amount -> gold.amount by make", "gold.amount -> mart.total by sum")


def world(*arrows: str, types: dict[str, str] = TYPES, age: timedelta = timedelta(hours=1)) -> LineageDocument:
    """The lineage with types of the columns of `gold`."""
    document = document_of(*arrows, jobs={"make": Job(age=age)})
    names = [dataset_entry.name for dataset_entry in document.datasets]
    columns = tuple(
        replace(column, type=types.get(column.name, "") if names[column.dataset] == "gold" else "")
        for column in document.columns
    )
    return replace(document, columns=columns)


def quality(*results: QualityAssertion) -> Facts:
    return Facts(now=NOW, quality={"abfss://lake/gold": results})


def judged(
    text: str, document: LineageDocument, facts: Facts, previous_text: str = ""
) -> dict[str, tuple[Verdict, tuple[str, ...], int]]:
    """Verdict, texts of the findings and line of each promise that does not hold, by its demand."""
    earlier = parse_contract(previous_text, "before.yaml") if previous_text else None
    results = check_contract(document, parse_contract(text, "contract.yaml"), facts, previous=earlier)
    return {
        result.demand: (result.verdict, tuple(finding.text for finding in result.findings), result.line)
        for result in results
        if result.verdict is not Verdict.HOLDS
    }


def test_a_contract_that_is_kept() -> None:
    contract = HEAD + SCHEMA.replace(
        "logicalType: integer", "logicalType: integer\n        transformSourceObjects: [raw]"
    )
    assert judged(contract, world(*ARROWS), quality(*PASSED), previous_text=contract) == {}
    demands = [
        check_result.demand
        for check_result in check_contract(world(*ARROWS), parse_contract(contract, ""), quality(*PASSED))
    ]
    assert demands == [
        "columns",
        "fresh_within latency 1 d",
        "quality amount nullValues",
        "keys",
        "inputs_declared",
        "inputs_used",
    ]


SCHEMA_WITH_SOURCES = SCHEMA.replace(
    "logicalType: integer", "logicalType: integer\n        transformSourceObjects: [SOURCES]"
)
BREACHES: dict[str, tuple[str, LineageDocument, Facts, dict[str, tuple[Verdict, tuple[str, ...], int]]]] = {
    "a column that no run saw": (
        SCHEMA.replace("name: amount", "name: price"),
        world(*ARROWS),
        quality(*PASSED, QualityAssertion(name="not_null", success=True, column="price")),
        {"columns": (Verdict.BROKEN, ("gold has no column price",), 8)},
    ),
    "a column of another type, and who depends on it": (
        SCHEMA,
        world(*ARROWS, types={**TYPES, "amount": "string"}),
        quality(*PASSED),
        {"columns": (Verdict.BROKEN, ("gold.amount is string, not decimal(10,2): mart.total depends on it",), 8)},
    ),
    "an old write": (
        SCHEMA,
        world(*ARROWS, age=timedelta(days=2)),
        quality(*PASSED),
        {"fresh_within latency 1 d": (Verdict.BROKEN, ("gold was written at 2026-11-21 12:00 UTC",), 17)},
    ),
    "an age in no unit that is known": (
        SCHEMA.replace("unit: d", "unit: moons"),
        world(*ARROWS),
        quality(*PASSED),
        {
            "fresh_within latency 1 moons": (
                Verdict.UNKNOWN,
                ("latency 1 moons: write a number and a unit such as h or d",),
                17,
            )
        },
    ),
    "a write whose time is not known": (
        SCHEMA,
        world("gold.id -> mart.id by sum", "gold.amount -> mart.total by sum"),
        quality(*PASSED),
        {
            "fresh_within latency 1 d": (
                Verdict.UNKNOWN,
                ("no process is known to write gold, so its age is not known",),
                17,
            )
        },
    ),
    "a test of the promised quality that failed": (
        SCHEMA,
        world(*ARROWS),
        quality(QualityAssertion(name="not_null", success=False, column="amount")),
        {
            "quality amount nullValues": (
                Verdict.BROKEN,
                ("not_null failed on gold.amount: mart.total depends on it",),
                15,
            )
        },
    ),
    "a failure that only warns": (
        SCHEMA,
        world(*ARROWS),
        quality(QualityAssertion(name="not_null", success=False, column="amount", severity="warn")),
        {},
    ),
    "no test of the promised quality": (
        SCHEMA,
        world(*ARROWS),
        quality(PASSED[1]),
        {"quality amount nullValues": (Verdict.UNKNOWN, ("no test of gold.amount measures it",), 15)},
    ),
    "no results at all": (
        SCHEMA,
        world(*ARROWS),
        Facts(now=NOW),
        {
            "quality amount nullValues": (
                Verdict.UNKNOWN,
                ("the record has no results of quality tests: check a lake instead, named by --lake",),
                15,
            )
        },
    ),
    "a key with a failed test": (
        SCHEMA,
        world(*ARROWS),
        quality(PASSED[0], QualityAssertion(name="unique", success=False, column="id")),
        {"keys": (Verdict.BROKEN, ("unique failed on gold.id",), 8)},
    ),
    "an input that the contract does not name": (
        SCHEMA_WITH_SOURCES.replace("SOURCES", "raw"),
        world(*ARROWS, "crm.mail -> gold.id by make"),
        quality(*PASSED),
        {
            "inputs_declared": (
                Verdict.BROKEN,
                ("make reads abfss://lake/crm, which the contract does not name",),
                8,
            )
        },
    ),
    "an input that no run reads": (
        SCHEMA_WITH_SOURCES.replace("SOURCES", "raw, other"),
        world(*ARROWS),
        quality(*PASSED),
        {"inputs_used": (Verdict.UNKNOWN, ("no run reads other for gold",), 8)},
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_is_named_with_its_line(name: str) -> None:
    schema, document, facts, expected = BREACHES[name]
    assert judged(HEAD + schema, document, facts) == expected


OLD = HEAD + SCHEMA


@pytest.mark.parametrize(
    ("new", "text"),
    [
        (
            SCHEMA.replace("name: amount", "name: price"),
            "the contract has no amount any more: mart.total depends on it",
        ),
        (
            SCHEMA.replace("decimal(10,2)", "string"),
            "amount was decimal(10,2) and is string: mart.total depends on it",
        ),
        (SCHEMA.replace("        required: true\n", ""), "id was required and is not"),
        (SCHEMA.replace("        unique: true\n", ""), "id was unique and is not"),
        (
            SCHEMA.replace("- name: orders", "- name: sales"),
            "the contract has no orders any more: mart.total depends on it",
        ),
    ],
)
def test_a_new_version_that_takes_something_away(new: str, text: str) -> None:
    verdict, texts, _ = judged(HEAD + new, world(*ARROWS), quality(*PASSED), previous_text=OLD)["compatible"]
    assert (verdict, texts) == (Verdict.BROKEN, (text,))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("other", "no data set of the lineage is called other or orders."),
        ("x?", "2 data sets are called x?: abfss://lake/xa, abfss://lake/xb."),
    ],
)
def test_a_table_that_is_no_certain_data_set(name: str, text: str) -> None:
    contract = HEAD + SCHEMA.replace("physicalName: gold", f"physicalName: '{name}'")
    document = world(*ARROWS, "xa.x -> mart.y by sum", "xb.x -> mart.y by sum")
    judgements = judged(contract, document, quality(*PASSED))
    assert {verdict for verdict, _, _ in judgements.values()} == {Verdict.UNKNOWN}
    assert judgements["columns"][1][0].startswith(text)
    assert "`throughlineDataset` can name it" in judgements["columns"][1][0]


def test_a_custom_property_names_the_data_set() -> None:
    named = "physicalName: other\n    customProperties: [{property: throughlineDataset, value: 'abfss://lake/gold'}]"
    contract = HEAD + SCHEMA.replace("physicalName: gold", named)
    assert "columns" not in judged(contract, world(*ARROWS), quality(*PASSED))


@pytest.mark.parametrize(
    ("promised", "kind", "fits"),
    [
        ("varchar(18)", "string", True),
        ("VARCHAR( 18 )", "varchar(18)", True),
        ("int", "bigint", True),
        ("int", "double", False),
        ("number(38,0)", "long", True),
        ("timestamp", "timestamp_ntz", True),
        ("timestamp", "date", False),
        ("struct<a:int>", "struct<a:int,b:int>", True),
        ("array", "string", False),
        ("geography", "string", True),
    ],
)
def test_types_fit_by_their_logical_type(promised: str, kind: str, fits: bool) -> None:
    assert same_type(PromisedColumn(name="x", physical=promised), kind) is fits


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a: [", ["contract.yaml:1: this is not valid YAML"]),
        ("", ["contract.yaml:1: write an object with `apiVersion`"]),
        (HEAD.replace("v3.1.0", "v2.2.2"), ["contract.yaml:1: this is kind 'DataContract', version 'v2.2.2'"]),
        (
            f"{HEAD}sla: 1\nschema:\n  - name: 7\n    properties: [{{name: a, required: often}}]\n",
            [
                "contract.yaml:9: schema.0.name: Input should be a valid string",
                "contract.yaml:10: schema.0.properties.0.required: Input should be a valid boolean",
                "contract.yaml:7: sla: Extra inputs are not permitted",
            ],
        ),
        (
            f"{HEAD}schema:\n  - name: a\n    properties:\n      - {{name: b, requird: true}}\n    qualty: []\n",
            [
                "contract.yaml:10: schema.0.properties.0.requird: the standard has no such key. Did you mean required?",
                "contract.yaml:11: schema.0.qualty: the standard has no such key. Did you mean quality?",
            ],
        ),
    ],
)
def test_every_mistake_of_a_contract_is_reported_with_its_line(text: str, lines: list[str]) -> None:
    with pytest.raises(Misconfigured) as error:
        parse_contract(text, "contract.yaml")
    messages = str(error.value).splitlines()
    assert [line for line, start in zip(messages, lines, strict=False) if not line.startswith(start)] == []
    assert len(messages) >= len(lines)


FULL = """\
domain: seller
dataProduct: payments
version: 1.1.0
status: active
id: 53581432-6c55-4ba2-a65f-72344a91553a
kind: DataContract
apiVersion: {version}
contractCreatedTs: 2022-11-15T02:59:43+00:00
servers: [{{server: mine, type: postgres, host: localhost, port: 5432, database: edw, schema: views}}]
schema:
  - id: tbl
    name: tbl
    physicalName: tbl_1
    physicalType: table
    relationships: [{{type: foreignKey, from: [tbl.a], to: [receivers.id]}}]
    properties:
      - {{name: a, physicalName: a_1, logicalType: date, physicalType: date, transformSourceObjects: [t1, t2]}}
      - name: b
        logicalType: string
        quality:
          - {{type: sql, query: "select count(*) from tbl", mustBeLessThan: 3600, dimension: completeness}}
          - {{type: custom, engine: soda, implementation: {{type: duplicate_percent}}}}
          - {{type: text, description: people read it}}
    quality: [{{metric: rowCount, mustBeBetween: [1, 5], schedule: 0 20 * * *, scheduler: cron}}]
price: {{priceAmount: 9.95, priceCurrency: USD, priceUnit: megabyte}}
team: {{name: sellers, members: [{{username: ann, role: owner, dateIn: 2022-08-01}}]}}
roles: [{{role: reader, access: read}}]
slaDefaultElement: tbl.a
slaProperties:
  - {{property: latency, value: 4, unit: d}}
  - {{property: frequency, value: 1, valueExt: 1, unit: d, element: tbl.a}}
  - {{property: retention, value: 3, unit: y}}
  - {{property: endOfLife, value: "2042-05-12T09:30:10-08:00"}}
"""


@pytest.mark.parametrize("version", ["v3.0.0", "v3.0.2", "v3.1.0", "v3.2.0"])
def test_what_the_standard_has_is_read(version: str) -> None:
    contract = parse_contract(FULL.format(version=version), "full.yaml")
    (table,) = contract.tables
    assert contract.name == "payments"
    assert table.names == ("edw.views.tbl_1", "edw.views.tbl", "tbl_1", "tbl")
    assert [column.name for column in table.columns] == ["a_1", "b"]
    assert [(rule.column, rule.name) for rule in table.quality] == [
        ("", "rowCount"),
        ("b", "completeness"),
        ("b", "custom"),
    ]
    assert [(freshness.text, freshness.age) for freshness in table.freshness] == [
        ("latency 4 d", timedelta(days=4)),
        ("frequency 1 d", timedelta(days=1)),
    ]
    assert table.inputs == (("t1",), ("t2",))


@pytest.fixture
def parts() -> Parts:
    loaded_parts = Parts()
    schema = {"fields": [{"name": "id", "type": "long"}]}
    columns = lineage({"id": [source("/raw/orders", "id", IDENTITY)]})
    event = body(inputs=["/raw/orders"], outputs=[dataset("/lake/gold", schema=schema, columnLineage=columns)])
    for place in post(loaded_parts.storage, packed(event)):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    return loaded_parts


def contract(tmp_path: Path, *columns: str, name: str = "orders") -> str:
    path = tmp_path / f"{name}.odcs.yaml"
    named = "".join(f"\n      - name: {column}" for column in columns)
    path.write_text(f"{HEAD}schema:\n  - name: gold\n    properties:{named}\n")
    return str(path)


def test_the_command_ends_with_the_codes_of_check(parts: Parts, tmp_path: Path) -> None:
    kept_contract, broken = contract(tmp_path, "id"), contract(tmp_path, "id", "total", name="broken")
    unknown = contract(tmp_path, "id", name="unknown").replace("gold", "x")
    Path(unknown).write_text(Path(unknown).read_text().replace("gold", "silver"))
    result = parts.run("contract", "check", kept_contract)
    assert (result.exit_code, result.output) == (0, "HOLDS  orders: gold: columns\n1 held\n")
    assert parts.run("contract", "check", unknown).exit_code == 4
    combined_result = parts.run("contract", "check", kept_contract, broken)
    assert combined_result.exit_code == 3
    assert "BROKEN  orders: gold: columns\n  gold has no column total\n" in combined_result.output
    assert parts.run("contract", "check", kept_contract, broken, "--sarif", "-").exit_code == 2


def test_the_forms_and_annotations_are_those_of_check(parts: Parts, tmp_path: Path) -> None:
    place = contract(tmp_path, "id", "total")
    shown = parts.run("contract", "check", place, "--sarif", "-", "--annotations", "github")
    sarif: Any = json.loads(shown.stdout)
    (result,) = sarif["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("columns", "error")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 8
    assert f"::error file={place},line=8," in shown.stderr


def test_a_contract_without_a_schema_says_so(parts: Parts, tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text(HEAD)
    result = parts.run("contract", "check", str(path))
    assert result.exit_code == 0
    assert "promises nothing that lineage can judge" in " ".join(result.output.split())
