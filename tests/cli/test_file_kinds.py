"""Files that hold no events are named for what they are, and files of events never are."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from throughline.cli.main import app
from throughline.cli.records.file_kinds import FORMS, HEAD, sentence_of

GOLDEN = Path(__file__).parents[1] / "golden"
DBT = '{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/%s/v12.json"}, "nodes": {}}'

FILES: dict[str, tuple[str | bytes, str]] = {
    # name: content, and what the sentence says after the name
    "manifest.json": (
        DBT % "manifest",
        "a manifest of dbt, and holds no OpenLineage events: throughline import dbt FOLDER",
    ),
    "run_results.json": (DBT % "run-results", "the run results of dbt"),
    "catalog.json": (DBT % "catalog", "a catalog of dbt"),
    "sources.json": (DBT % "sources", "an artifact of dbt"),
    "contract.yaml": ("# ours\napiVersion: v3.0.2\nkind: DataContract\nid: orders\n", "a data contract"),
    "contract.json": ('{"kind": "DataContract", "id": "orders"}', "a data contract"),
    "product.yaml": ("apiVersion: v1.0.0\nkind: DataProduct\nid: sales\n", "a data product"),
    "files.tar": (b"name".ljust(257, b"\0") + b"ustar\0", "a tar archive, and holds no OpenLineage events: unpack it"),
    "older.yaml": ("dataContractSpecification: 1.1.0\nid: orders\n", "a data contract"),
    "types.json": ('{"entityDefs": [{"name": "azure_sql_table"}]}', "a file of type definitions of Atlas"),
    "entities.json": ('{"entities": [{"typeName": "DataSet"}]}', "a file of entities of Atlas"),
    "app-1": ('{"Event":"SparkListenerLogStart"}\n{"Event":"SparkListenerJobEnd"}\n', "Spark's own event log"),
    "work.ipynb": ('{\n "cells": [],\n "nbformat": 4\n}', "a notebook"),
    "lineage.json": ('{"format":2,"source":"record","datasets":[]}', "a lineage document"),
    "schema.json": ('{"$schema": "https://json-schema.org/draft/2020-12/schema"}', "a JSON Schema"),
    "openlineage.yml": ("transport:\n  type: http\n", "a configuration of OpenLineage's client"),
    "dbt_project.yml": ("name: shop\nconfig-version: 2\n", "a dbt project"),
    "schema.yml": ("version: 2\n\nmodels:\n  - name: orders\n", "a file of properties of dbt"),
    "list.yaml": ("---\n- one\n- two\n", "a YAML file"),
    "names.toml": (
        '[fabric.workspaces.sales]\nid = "1"\n',
        "a file of names, and holds no OpenLineage events: throughline translate EVENTS --names ",
    ),
    "policy.toml": ('[[tag]]\nx = 1\n[[policy]]\nname = "a"\n', "a rules file with policies, and holds no OpenLineage"),
    "tags.toml": (
        '[[tag]]\nclassification = "PII"\n',
        "a rules file, and holds no OpenLineage events: throughline class",
    ),
    "watch.toml": ('[channels.mail]\nkind = "telemetry"\n', "a rules file of messages"),
    "settings.toml": ("a = 1\n", "a TOML file"),
    "rows.csv": ("id,name\n1,a\n", "a CSV file"),
    "rows.tsv": ("id\tname\n1\ta\n", "a CSV file"),
    "page.html": ("<!DOCTYPE html>\n<html></html>", "a page in HTML"),
    "pom.xml": ("<project/>", "an XML file"),
    "t.parquet": (b"PAR1\x15\x04", "a Parquet file"),
    "t.avro": (b"Obj\x01\x02", "an Avro file"),
    "t.orc": (b"ORC\x00", "an ORC file"),
    "all.zip": (b"PK\x03\x04\x14", "a ZIP archive"),
    "events.zst": (b"\x28\xb5\x2f\xfd\x00", "compressed, but not by gzip"),
    "windows.json": ('{"eventTime": 1}'.encode("utf-16"), "a text in UTF-16"),
}


def _written(folder: Path, name: str) -> Path:
    content, _ = FILES[name]
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("command", [("translate",), ("send", "--url", "http://127.0.0.1:9"), ("explain",)])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_holds_no_events_is_named_for_what_it_is(
    name: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    path = _written(tmp_path, name)
    result = CliRunner().invoke(app, [*command, str(path)])
    assert result.exit_code == 2
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith(f"error: {path} is {FILES[name][1]}")


def test_every_kind_in_the_table_has_a_file() -> None:
    sentences = [sentence_of("x", _bytes(content)) for content, _ in FILES.values()]
    kinds = {is_a for form in FORMS for is_a in (form.is_a, *(kind.is_a for kind in form.kinds)) if is_a}
    assert {kind for kind in kinds if not any(f"is {kind}, " in sentence for sentence in sentences)} == set()


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def test_a_gzipped_file_is_named_too(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json.gz"
    path.write_bytes(gzip.compress(_bytes(FILES["manifest.json"][0])))
    result = CliRunner().invoke(app, ["translate", str(path)])
    assert f"{path} is a manifest of dbt" in result.stderr


def test_a_file_in_standard_input_is_named_too() -> None:
    result = CliRunner().invoke(app, ["translate", "-"], input=FILES["contract.yaml"][0])
    assert (result.exit_code, result.stderr) == (
        2,
        "error: <stdin> is a data contract, and holds no OpenLineage events: throughline contract check <stdin>\n",
    )


NOT_JSON = {
    "README.md": (b"# Title\n\n[A link](x.md), `{` and {braces}.\n" * 500, "a text without JSON"),
    "job.py": (b'"""A job."""\n\nprint({"a": 1})\n', "a text without JSON"),
    "random.gz": (gzip.compress(bytes(range(256)) * 20), "a binary file"),
    "wrongly.gz": (bytes(range(256)) * 20, "a binary file"),
}


@pytest.mark.parametrize("name", NOT_JSON)
def test_a_file_without_json_is_named_once(name: str, tmp_path: Path) -> None:
    content, is_a = NOT_JSON[name]
    (tmp_path / name).write_bytes(content)
    result = CliRunner().invoke(app, ["translate", str(tmp_path / name)])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {tmp_path / name} is {is_a}, and holds no OpenLineage events")
    assert len(result.stderr.splitlines()) == 1


EVENT = {"eventTime": "2026-11-21T10:00:00Z", "run": {}, "job": {"name": "$schema", "namespace": "n"}}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "no JSON at all",
        json.dumps(EVENT),
        json.dumps([EVENT]),
        json.dumps(EVENT, indent=2),
        json.dumps({**EVENT, "kind": "DataContract", "typeName": "x"}),
        json.dumps({"digest": "d", "event": json.dumps(EVENT)}),
        json.dumps({"run": {"runId": "r"}, "$schema": "x"}),
    ],
)
def test_what_may_hold_events_is_not_named(content: str) -> None:
    assert sentence_of("x", content.encode()) == ""


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/*/events.jsonl")), ids=lambda path: path.parent.name)
def test_no_file_of_real_events_is_named(path: Path) -> None:
    with path.open("rb") as file:
        assert sentence_of(path.name, file.read(HEAD)) == ""


def test_explaining_a_file_of_events_says_how_to_name_its_data_sets(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(EVENT))
    result = CliRunner().invoke(app, ["explain", str(path)])
    assert (result.exit_code, result.stderr) == (
        2,
        f"error: {path} is a file: `throughline translate {path}` names its data sets\n",
    )


def test_explaining_a_namespace_without_a_name_is_an_error() -> None:
    result = CliRunner().invoke(app, ["explain", "kafka://h:9092"])
    assert result.exit_code == 2
    assert "write namespace and name" in result.stderr
