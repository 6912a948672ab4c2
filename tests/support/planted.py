"""Events of a small job with a secret in every place where users or listeners may put one."""

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

from shared.storage.port import Storage
from tests.support.events import run_id

SECRET = "Pl4ntedS3cr3t"  # noqa: S105 - it opens nothing
SAS = f"sv=2024-11-04&sr=c&sig={SECRET}%2Fx%3D"
JOB = f"nightly https://ann:{SECRET}@git.example.com password={SECRET}"
BEARER = f"Bearer {SECRET}.{SECRET}.{SECRET}"
TABLES = (
    *("applications", "processes", "publishqueue", "assets", "counts", "shadow", "deadletters", "control"),
    *("refused", "excluded", "watch", "attached"),
)
CONTAINERS = ("events", "ignored", "contributions", "archive")
RAW = ("events", "ignored")
"""Containers with events in their original form."""
ORIGINAL = "packed"
"""The cell of a row with an event in its original form."""

INPUTS = (
    (f"abfss://ann:{SECRET}@lake.dfs.core.windows.net", "raw/orders"),
    ("abfss://raw@lake.dfs.core.windows.net", f"customers?{SAS}"),
    ("wasbs://raw@lake.blob.core.windows.net", f"/prices/?{SAS}"),
    (f"sqlserver://srv.database.windows.net:1433;database=shop;user=ann;password={SECRET}", "dbo.items"),
    (f"jdbc:postgresql://ann:{SECRET}@pg:5432/shop?password={SECRET}", "public.sales"),
    (f"s3a://KEY:{SECRET}@bucket", "in"),
    (f"azurecosmos://a.documents.azure.com/dbs/d;AccountKey={SECRET}==", "/colls/c"),
    (f"mongodb+srv://ann:{SECRET}@h/db", "c"),
)
OUTPUT = ("abfss://gold@lake.dfs.core.windows.net", f"report?{SAS}")
SQL = f"INSERT INTO r SELECT * FROM o WHERE k = '{SECRET}' -- {SECRET}\n AND j = \"{SECRET}\" /* {SECRET} */"  # noqa: S608 - nobody runs it
PROPERTIES = {
    "spark.databricks.clusterUsageTags.clusterAllTags": json.dumps(
        [{"key": "RunName", "value": "nightly"}, {"key": "owner", "value": SECRET}]
    ),
    "mountPoints": [{"mountPoint": "/mnt/x", "source": f"wasbs://c@a.blob.core.windows.net?{SAS}"}],
    "user": SECRET,
    "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net": SECRET,
}


def body(kind: str, second: int, *, run: str = "planted", job: str = JOB) -> dict[str, Any]:
    """Return an event with a secret in every place."""
    text = f"concat(x, '{SECRET}')"
    step = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": text}
    sources = [
        {"namespace": namespace, "name": name, "field": "x", "transformations": [step] * (place % 2)}
        for place, (namespace, name) in enumerate(INPUTS)
    ]
    fields = {"x": {"inputFields": sources, "transformationType": "", "transformationDescription": text}}
    lineage = {"fields": fields, "dataset": sources}
    return {
        "eventType": kind,
        "eventTime": f"2026-11-21T10:00:{second:02}Z",
        "producer": f"https://example.com/?{SAS}",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {
            "runId": run_id(run),
            "facets": {
                "parent": {
                    "run": {"runId": run_id("planted application")},
                    "job": {"namespace": f"https://ann:{SECRET}@spark.example.com", "name": JOB},
                },
                "environment-properties": {"environment-properties": PROPERTIES},
                "spark_properties": {"properties": {"spark.my.password": SECRET}},
                "executionParameters": {
                    "parameters": [
                        {"key": "db.password", "value": SECRET},
                        {"key": "landing", "value": f"https://lake.blob.core.windows.net/in?{SAS}"},
                    ]
                },
                "hive_properties": {"properties": {"javax.jdo.option.ConnectionPassword": SECRET}},
                "spark.logicalPlan": {"plan": [{"value": SECRET}]},
                "errorMessage": {"message": f"could not log in with {SECRET}", "stackTrace": SECRET},
            },
        },
        "job": {
            "namespace": f"https://ann:{SECRET}@spark.example.com",
            "name": f"{job}.execute_insert_into_hadoop_fs_relation_command.report",
            "facets": {
                "sql": {"query": SQL},
                "jobType": {"jobType": "SQL_JOB", "processingType": "BATCH", "integration": "SPARK"},
                "sourceCode": {"sourceCode": f"key = '{SECRET}'"},
                "sourceCodeLocation": {
                    "type": "git",
                    "url": f"https://ann:{SECRET}@git.example.com/jobs/blob/1a2b/load.py?{SAS}",
                    "version": f"token={SECRET}",
                },
            },
        },
        "inputs": [{"namespace": namespace, "name": name} for namespace, name in INPUTS],
        "outputs": [
            {
                "namespace": OUTPUT[0],
                "name": OUTPUT[1],
                "facets": {
                    "columnLineage": lineage,
                    "schema": {"fields": [{"name": "x", "type": "string"}]},
                    "symlinks": {
                        "identifiers": [
                            {"namespace": f"hive://ann:{SECRET}@h:9083", "name": "shop.report", "type": "TABLE"}
                        ]
                    },
                    "dataSource": {"name": "lake", "uri": f"https://lake.blob.core.windows.net/?{SAS}"},
                },
            }
        ],
    }


def events() -> list[bytes]:
    """Return START and COMPLETE of the job, a run with a partly invalid event, and an ignored run."""
    odd = body("COMPLETE", 40, run="odd")
    odd["inputs"].append({"namespace": SECRET, "name": 7, "password": SECRET})
    odd["run"]["facets"].pop("environment-properties")
    odd["run"]["facets"]["parent"]["run"]["runId"] = run_id("odd application")
    idle = body("RUNNING", 50, run="idle", job=f"app password={SECRET}")
    idle["inputs"], idle["outputs"] = [], []
    idle["run"]["facets"].pop("environment-properties")
    return [json.dumps(event).encode() for event in (body("START", 0), body("COMPLETE", 30), odd, idle)]


REFUSED = (
    json.dumps({**body("START", 0), "eventType": f"password={SECRET}"}).encode(),
    json.dumps({**body("START", 0), "eventTime": f"token={SECRET}"}).encode(),
    f'{{"eventTime": "{SECRET}"'.encode(),
    SECRET.encode(),
)
"""Bodies that the receiver refuses."""


def contains_secret(text: str) -> bool:
    """Whether a text contains the secret, plain or in base64."""
    forms = (SECRET, *(base64.b64encode(b"x" * pad + SECRET.encode())[4:12].decode() for pad in range(3)))
    return any(form.lower() in text.lower() for form in forms[:1]) or any(form in text for form in forms[1:])


def stored_texts(storage: Storage, *, raw: bool) -> Iterator[tuple[str, str]]:
    """Yield the place and text of everything in storage: rows, blob names, and blob contents.

    Events in their original form are included only with `raw`.
    """
    for table in TABLES:
        for row in storage.scan(table):
            cells = {name: value for name, value in row.values.items() if raw or name != ORIGINAL}
            yield f"{table} {row.partition} {row.key}", repr((row.partition, row.key, _readable(cells)))
    for container in CONTAINERS:
        for fact in storage.blobs(container):
            yield f"the name of {container}/{fact.name}", fact.name
            content = storage.get(container, fact.name)
            if content and (raw or container not in RAW):
                yield f"{container}/{fact.name}", _unpacked(content)


def _readable(values: dict[str, Any]) -> dict[str, Any]:
    """The cells of a row, those that hold compressed content as one text."""
    parts = [value for _, value in sorted(values.items()) if isinstance(value, bytes)]
    texts: dict[str, Any] = {name: value for name, value in values.items() if not isinstance(value, bytes)}
    return {**texts, "content": _unpacked(b"".join(parts))}


def _unpacked(data: bytes) -> str:
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode(errors="replace")
