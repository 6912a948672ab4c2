"""Requests and answers of Table Storage as values: rows in JSON, their addresses, transactions in multipart bodies.

The forms are those of Microsoft's pages "Payload format for Table service operations", "Querying tables and entities"
and "Performing entity group transactions".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from shared.storage.port import Operation, OperationKind, Row, Value

JSON = "application/json"
ACCEPTED = f"{JSON};odata=minimalmetadata"
"""JSON with etags, and with the types that JSON does not have."""
ODATA_VERSION = "3.0"

_TYPE = "@odata.type"
_INT32 = range(-(2**31), 2**31)
_BESIDE_CELLS = frozenset({"PartitionKey", "RowKey", "Timestamp"})
_VALUE_OF: Mapping[Any, Callable[[str], Value]] = {
    "Edm.Binary": lambda text: msgspec.convert(text, bytes),
    "Edm.DateTime": datetime.fromisoformat,
    "Edm.Int64": int,
}
_LINE_SEPARATOR, _PARAGRAPH_SEPARATOR = (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029")
"""JavaScript's line ends beside those of HTTP, in UTF-8 and escaped: Azurite ends a line of a transaction there."""
_STATUS_LINE = re.compile(rb"^HTTP/1\.1 (\d{3}) ?(.*?)\r?$", re.MULTILINE)
_BOUNDARY = b"\r\n--"
_ETAG = re.compile(rb"^etag: *(.+?)\r?$", re.MULTILINE | re.IGNORECASE)


class _Page(msgspec.Struct):
    value: tuple[dict[str, Any], ...]


_encode = msgspec.json.Encoder().encode
_decode_entity = msgspec.json.Decoder(dict[str, Any]).decode
_decode_page = msgspec.json.Decoder(_Page).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationAnswer:
    """The answer to one operation of a transaction: HTTP's status, the new etag, and the body where it failed."""

    status: int
    reason: str
    etag: str
    content: bytes


def row_path(table: str, partition: str, key: str) -> str:
    """The path of a row, below the account's."""
    return f"/{table}(PartitionKey='{_quoted(partition)}',RowKey='{_quoted(key)}')"


def partition_query(partition: str, since: str, before: str) -> str:
    """The query for the rows of a partition whose keys are at least `since` and below `before`, where given."""
    bounds = (("PartitionKey eq ", partition), ("RowKey ge ", since), ("RowKey lt ", before))
    conditions = (f"{quote(bound)}'{_quoted(text)}'" for bound, text in bounds if text)
    return "$filter=" + quote(" and ").join(conditions)


def encoded_row(row: Row) -> bytes:
    """A row in JSON. Raises ValueError for text that UTF-8 cannot hold."""
    entity: dict[str, Any] = {"PartitionKey": row.partition, "RowKey": row.key}
    for name, value in row.values.items():
        entity[name] = value
        if isinstance(value, bytes):
            entity[name + _TYPE] = "Edm.Binary"
        elif isinstance(value, datetime):
            entity[name] = value.astimezone(UTC)
            entity[name + _TYPE] = "Edm.DateTime"
        elif isinstance(value, int) and value not in _INT32:
            entity[name] = str(value)
            entity[name + _TYPE] = "Edm.Int64"
    return _encode(entity).replace(*_LINE_SEPARATOR).replace(*_PARAGRAPH_SEPARATOR)


def decoded_row(content: bytes) -> Row:
    """The row of an answer. Raises ValueError or KeyError for what is none."""
    return _row(_decode_entity(content))


def decoded_page(content: bytes) -> tuple[Row, ...]:
    """The rows in an answer to a query. Raises ValueError or KeyError for what is none."""
    return tuple(_row(entity) for entity in _decode_page(content).value)


def encoded_transaction(table: str, operations: Sequence[Operation], *, address: str, boundary: str) -> bytes:
    """The body of a transaction: a batch of one change set. `address` is the account's; `boundary` is the batch's, and
    occurs nowhere in the rows.
    """
    change_set = f"changes_{boundary}"
    parts = [f"--{boundary}\r\nContent-Type: multipart/mixed; boundary={change_set}\r\n\r\n".encode()]
    for number, operation in enumerate(operations):
        parts += (
            f"--{change_set}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
            f"Content-ID: {number}\r\n\r\n".encode(),
            _encoded_operation(table, operation, address),
            b"\r\n",
        )
    parts.append(f"--{change_set}--\r\n--{boundary}--\r\n".encode())
    return b"".join(parts)


def decoded_transaction(content: bytes) -> tuple[OperationAnswer, ...]:
    """The answers to the operations of a transaction in their order, or the one answer that refused it."""
    starts = list(_STATUS_LINE.finditer(content))
    ends = (*(start.start() for start in starts[1:]), len(content))
    return tuple(_operation_answer(start, content[start.end() : end]) for start, end in zip(starts, ends, strict=False))


def _encoded_operation(table: str, operation: Operation, address: str) -> bytes:
    row, kind = operation.row, operation.kind
    path = f"/{table}" if kind is OperationKind.INSERT else row_path(table, row.partition, row.key)
    method = {OperationKind.INSERT: "POST", OperationKind.DELETE: "DELETE"}.get(kind, "PUT")
    head = f"{method} {address}{path} HTTP/1.1\r\nAccept: {ACCEPTED}\r\nDataServiceVersion: {ODATA_VERSION}\r\n"
    if kind is OperationKind.INSERT:
        head += "Prefer: return-no-content\r\n"
    elif kind is not OperationKind.UPSERT:
        head += f"If-Match: {row.etag or '*'}\r\n"
    if kind is OperationKind.DELETE:
        return f"{head}\r\n".encode()
    body = encoded_row(row)
    return f"{head}Content-Type: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _operation_answer(start: re.Match[bytes], message: bytes) -> OperationAnswer:
    head, _, body = message.partition(b"\r\n\r\n")
    etag = _ETAG.search(head)
    return OperationAnswer(
        status=int(start[1]),
        reason=start[2].decode(),
        etag=etag[1].decode() if etag else "",
        content=body.partition(_BOUNDARY)[0],
    )


def _row(entity: Mapping[str, Any]) -> Row:
    values = {}
    for name, value in entity.items():
        if "odata." in name or name in _BESIDE_CELLS:
            continue
        value_of = _VALUE_OF.get(entity.get(name + _TYPE))
        values[name] = value_of(value) if value_of else value
    return Row(partition=entity["PartitionKey"], key=entity["RowKey"], values=values, etag=entity.get("odata.etag", ""))


def _quoted(text: str) -> str:
    return quote(text.replace("'", "''"), safe="")
