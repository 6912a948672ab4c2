"""Requests and answers of Table Storage: also in forms that Azurite does not use."""

import json
from datetime import UTC, datetime

import pytest

from shared.storage.port import Operation, OperationKind, Row
from shared.storage.service import (
    decoded_page,
    decoded_row,
    decoded_transaction,
    encoded_row,
    encoded_transaction,
    partition_query,
    row_path,
)

FULL = {
    "odata.metadata": "https://a.table.core.windows.net/$metadata#runs/@Element",
    "odata.type": "a.runs",
    "odata.id": "https://a.table.core.windows.net/runs(PartitionKey='p',RowKey='k')",
    "odata.etag": "W/\"datetime'2026-11-26T10%3A00%3A00.1234567Z'\"",
    "odata.editLink": "runs(PartitionKey='p',RowKey='k')",
    "PartitionKey": "p",
    "RowKey": "k",
    "Timestamp@odata.type": "Edm.DateTime",
    "Timestamp": "2026-11-26T10:00:00.1234567Z",
    "at@odata.type": "Edm.DateTime",
    "at": "2026-11-26T10:00:00.1234567Z",
    "whole@odata.type": "Edm.DateTime",
    "whole": "2026-11-26T10:00:00Z",
    "text": "2026-11-26T10:00:00Z",
    "packed@odata.type": "Edm.Binary",
    "packed": "eA==",
    "bytes@odata.type": "Edm.Int64",
    "bytes": "-9223372036854775808",
    "small": 7,
    "yes": True,
}
ROW = Row(
    partition="p",
    key="k",
    etag="W/\"datetime'2026-11-26T10%3A00%3A00.1234567Z'\"",
    values={
        "at": datetime(2026, 11, 26, 10, 0, 0, 123456, tzinfo=UTC),
        "whole": datetime(2026, 11, 26, 10, 0, 0, tzinfo=UTC),
        "text": "2026-11-26T10:00:00Z",
        "packed": b"x",
        "bytes": -(2**63),
        "small": 7,
        "yes": True,
    },
)


def test_a_row_is_read_with_all_metadata_and_with_little() -> None:
    """Azure's times have seven digits of a second, of which Python keeps six."""
    minimal = {
        name: value
        for name, value in FULL.items()
        if name not in {"odata.type", "odata.id", "odata.editLink", "Timestamp@odata.type"}
    }
    for entity in (FULL, minimal):
        assert decoded_row(json.dumps(entity).encode()) == ROW
        assert decoded_page(json.dumps({"odata.metadata": "x", "value": [entity, entity]}).encode()) == (ROW, ROW)


def test_a_row_is_written_with_the_types_that_json_does_not_have() -> None:
    assert json.loads(encoded_row(ROW)) == {
        "PartitionKey": "p",
        "RowKey": "k",
        "at": "2026-11-26T10:00:00.123456Z",
        "at@odata.type": "Edm.DateTime",
        "whole": "2026-11-26T10:00:00Z",
        "whole@odata.type": "Edm.DateTime",
        "text": "2026-11-26T10:00:00Z",
        "packed": "eA==",
        "packed@odata.type": "Edm.Binary",
        "bytes": "-9223372036854775808",
        "bytes@odata.type": "Edm.Int64",
        "small": 7,
        "yes": True,
    }


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"{}", b'{"value": [{}]}', b'{"PartitionKey": "p"}'])
def test_another_answer_is_no_row(content: bytes) -> None:
    for decode in (decoded_row, decoded_page):
        with pytest.raises((ValueError, KeyError)):
            decode(content)


def test_quotes_of_keys_are_doubled() -> None:
    assert row_path("runs", "o'q", "a b") == "/runs(PartitionKey='o%27%27q',RowKey='a%20b')"
    assert partition_query("o'q", "a", "") == "$filter=PartitionKey%20eq%20'o%27%27q'%20and%20RowKey%20ge%20'a'"


def test_a_transaction_is_one_change_set_of_a_batch() -> None:
    operations = [
        Operation(kind=OperationKind.INSERT, row=Row(partition="p", key="new")),
        Operation(kind=OperationKind.DELETE, row=Row(partition="p", key="old")),
    ]
    body = encoded_transaction("runs", operations, address="https://a.example", boundary="b")
    lines = body.decode().split("\r\n")
    assert [line for line in lines if line.startswith("--")] == ["--b", *["--changes_b"] * 2, "--changes_b--", "--b--"]
    assert "POST https://a.example/runs HTTP/1.1" in lines
    assert "DELETE https://a.example/runs(PartitionKey='p',RowKey='old') HTTP/1.1" in lines
    assert lines.count("If-Match: *") == 1


DONE = (
    b"--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_2\r\n\r\n"
    b"--changesetresponse_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
    b"HTTP/1.1 204 No Content\r\nContent-ID: 0\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n"
    b"Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n"
    b"Location: https://a.example/runs(PartitionKey='p',RowKey='HTTP/1.1%20404%20TableNotFound')\r\n"
    b"ETag: W/\"datetime'2026'\"\r\n\r\n\r\n"
    b"--changesetresponse_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
    b"HTTP/1.1 204 No Content\r\nContent-ID: 1\r\nDataServiceVersion: 1.0;\r\n\r\n\r\n"
    b"--changesetresponse_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
    b"HTTP/1.1 204 No Content\r\netag: second\r\n\r\n\r\n"
    b"--changesetresponse_2--\r\n--batchresponse_1--\r\n"
)
FAILED = (
    b"--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_2\r\n\r\n"
    b"--changesetresponse_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
    b"HTTP/1.1 412 Precondition Failed\r\nContent-Type: application/json\r\n\r\n"
    b'{"odata.error":{"code":"UpdateConditionNotSatisfied"}}\r\n'
    b"--changesetresponse_2--\r\n--batchresponse_1--\r\n"
)


def test_the_answers_of_a_transaction_are_read_in_their_order() -> None:
    answers = decoded_transaction(DONE)
    assert [(answer.status, answer.etag) for answer in answers] == [
        (204, "W/\"datetime'2026'\""),
        (204, ""),
        (204, "second"),
    ]


def test_the_answer_that_refuses_a_transaction_is_read_with_its_body() -> None:
    (answer,) = decoded_transaction(FAILED)
    assert (answer.status, answer.reason) == (412, "Precondition Failed")
    assert answer.content == b'{"odata.error":{"code":"UpdateConditionNotSatisfied"}}'
    assert decoded_transaction(b"<html>") == ()
