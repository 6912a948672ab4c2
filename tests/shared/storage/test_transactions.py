"""The contract of `transact`, held by every storage alike; and how operations are divided into transactions."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.storage.port import MAX_OPERATIONS, MAX_TRANSACTION_BYTES, Operation, OperationKind, Row, Storage, chunks

INSERT, UPSERT, REPLACE, DELETE = OperationKind


def row(key: str, number: int = 0, *, etag: str = "", partition: str = "p") -> Row:
    return Row(partition=partition, key=key, values={"n": number}, etag=etag)


def operation(kind: OperationKind, key: str, number: int = 0, *, etag: str = "", partition: str = "p") -> Operation:
    return Operation(kind=kind, row=row(key, number, etag=etag, partition=partition))


def stored(storage: Storage, table: str) -> dict[str, object]:
    """The rows of the partition: numbers by key."""
    return {stored_row.key: stored_row.values["n"] for stored_row in storage.partition(table, "p")}


def test_a_transaction_executes_every_kind_of_operation(storage: Storage, unique: str) -> None:
    read_etag, changed = (storage.insert(unique, row(key)) for key in ("read", "changed"))
    storage.insert(unique, row("unread"))
    storage.insert(unique, row("overwritten"))
    assert read_etag
    assert changed
    etags = storage.transact(
        unique,
        [
            operation(INSERT, "inserted", 1),
            operation(UPSERT, "overwritten", 2),
            operation(UPSERT, "written", 3),
            operation(DELETE, "read", etag=read_etag),
            operation(REPLACE, "changed", 4, etag=changed),
            operation(DELETE, "unread"),
        ],
    )
    assert stored(storage, unique) == {"inserted": 1, "overwritten": 2, "written": 3, "changed": 4}
    assert etags
    keys = ("inserted", "overwritten", "written", "", "changed", "")
    assert etags == tuple(next((r.etag for r in storage.partition(unique, "p") if r.key == key), "") for key in keys)
    assert storage.replace(unique, row("changed", 5, etag=etags[4]))


REFUSED: dict[str, Operation] = {
    "an insert of a row that is there": operation(INSERT, "there"),
    "a replacement of a row that has changed": operation(REPLACE, "there", etag="stale"),
    "a replacement of a row that has gone": operation(REPLACE, "gone", etag="stale"),
    "a replacement without an etag": operation(REPLACE, "there"),
    "a deletion of a row that has changed": operation(DELETE, "there", etag="stale"),
    "a deletion of a row that has gone": operation(DELETE, "gone", etag="stale"),
    "a deletion of any row, which has gone": operation(DELETE, "gone"),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_refused_operation_refuses_the_transaction(
    storage: Storage, unique: str, refused: Operation, place: str
) -> None:
    stale = storage.insert(unique, row("there"))
    storage.upsert(unique, row("there", 1))
    assert stale
    if refused.row.etag:
        refused = replace(refused, row=replace(refused.row, etag=stale))
    other_operations = [operation(INSERT, "other", 2), operation(UPSERT, "another", 2)]
    assert (
        storage.transact(unique, [refused, *other_operations] if place == "first" else [*other_operations, refused])
        is None
    )
    assert stored(storage, unique) == {"there": 1}


@pytest.mark.parametrize("kind", [INSERT, UPSERT])
def test_a_transaction_makes_a_table_that_is_missing(storage: Storage, unique: str, kind: OperationKind) -> None:
    operations = [operation(kind, "a", 1), operation(kind, "b", 2)]
    assert storage.transact(unique, operations)
    assert stored(storage, unique) == {"a": 1, "b": 2}


def test_a_condition_on_a_row_of_a_missing_table_is_refused(storage: Storage, unique: str) -> None:
    etag = storage.insert(unique, row("a"))
    assert etag
    assert storage.transact(f"{unique}x", [operation(REPLACE, "a", etag=etag)]) is None
    assert storage.transact(f"{unique}y", [operation(DELETE, "a")]) is None


def test_an_empty_transaction_does_nothing(storage: Storage, unique: str) -> None:
    assert storage.transact(unique, []) == ()


@pytest.mark.parametrize("key", ["with space", "o'quote", "ü|ö", "a|20261121T130000000000Z|b", "~!*().,;=&+%41"])
def test_a_transaction_finds_rows_with_special_characters_in_their_keys(
    storage: Storage, unique: str, key: str
) -> None:
    inserted = storage.transact(unique, [operation(INSERT, key, 1, partition=key)])
    assert inserted
    replaced = storage.transact(unique, [operation(REPLACE, key, 2, etag=inserted[0], partition=key)])
    assert replaced
    stored_row = storage.read(unique, key, key)
    assert stored_row
    assert (stored_row.values["n"], stored_row.etag) == (2, replaced[0])
    assert storage.transact(unique, [operation(DELETE, key, etag=replaced[0], partition=key)]) == ("",)
    assert storage.read(unique, key, key) is None


def test_a_transaction_holds_a_hundred_operations(storage: Storage, unique: str) -> None:
    operations = [operation(INSERT, f"{number:03}", number) for number in range(MAX_OPERATIONS)]
    etags = storage.transact(unique, operations)
    assert etags == tuple(stored_row.etag for stored_row in storage.partition(unique, "p"))
    with pytest.raises(ValueError, match="chunks"):
        storage.transact(unique, [operation(UPSERT, f"{number:03}") for number in range(MAX_OPERATIONS + 1)])


@pytest.mark.parametrize(
    "cell", [b"\xff" * 65_000, "\u20ac" * 32_000, "\x01" * 32_000], ids=["bytes", "text", "escaped"]
)
def test_a_transaction_holds_as_many_bytes_as_chunks_allows(storage: Storage, unique: str, cell: bytes | str) -> None:
    rows = [Row(partition="p", key=f"{number:03}", values={"a": cell, "b": cell}) for number in range(60)]
    part, *_ = chunks([Operation(kind=INSERT, row=inserted_row) for inserted_row in rows])
    assert len(part) >= 10
    assert storage.transact(unique, part)
    assert list(storage.partition(unique, "p"))[-1].values == rows[len(part) - 1].values


MISFITS: dict[str, list[Operation]] = {
    "two partitions": [operation(INSERT, "a"), operation(INSERT, "b", partition="q")],
    "a row twice": [operation(INSERT, "a"), operation(UPSERT, "a")],
    "too many bytes": [
        Operation(kind=UPSERT, row=Row(partition="p", key=str(number), values={"b": bytes(60_000)}))
        for number in range(60)
    ],
    "a cell that is too large": [Operation(kind=UPSERT, row=Row(partition="p", key="a", values={"b": bytes(65_537)}))],
    "a key that a table cannot hold": [operation(UPSERT, "a/b")],
}


@pytest.mark.parametrize("operations", MISFITS.values(), ids=MISFITS)
def test_every_storage_refuses_transactions_that_a_table_cannot_execute(
    storage: Storage, unique: str, operations: list[Operation]
) -> None:
    storage.insert(unique, row("other"))
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own message
        storage.transact(unique, operations)
    assert list(stored(storage, unique)) == ["other"]


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 6 * 65_536)), max_size=250))
def test_chunks_are_the_operations_in_their_order_and_fit(drawn: list[tuple[str, int]]) -> None:
    operations = [
        Operation(kind=UPSERT, row=Row(partition="p", key=f"{key}{number % 120}", values={"b": bytes(size)}))
        for number, (key, size) in enumerate(drawn)
    ]
    parts = list(chunks(operations))
    assert [single_operation for part in parts for single_operation in part] == operations
    assert all(parts)
    for part in parts:
        assert len(part) <= MAX_OPERATIONS
        assert len({single_operation.row.key for single_operation in part}) == len(part)
        assert sum(len(bytes(each.row.values["b"])) for each in part) * 4 / 3 <= MAX_TRANSACTION_BYTES  # type: ignore[arg-type, misc]
