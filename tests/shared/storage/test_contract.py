"""One contract for the storage port, held by every storage alike."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from azure.core.exceptions import HttpResponseError

from shared.bootstrap_receiver import receiver_storage
from shared.errors import StorageUnavailable
from shared.settings.reading import load
from shared.storage.port import Operation, OperationKind, Row, Storage, Value, upsert_all


def test_a_partition_is_read_between_two_keys(storage: Storage, unique: str) -> None:
    for key in ("a|1", "b|1", "b|2", "b|~", "c|1"):
        storage.insert(unique, Row(partition="p", key=key))
    storage.insert(unique, Row(partition="q", key="b|1"))
    assert [row.key for row in storage.partition(unique, "p", since="b|", before="b|~")] == ["b|1", "b|2"]
    assert [row.key for row in storage.partition(unique, "p", since="b|2")] == ["b|2", "b|~", "c|1"]
    assert [row.key for row in storage.partition(unique, "p", before="b|")] == ["a|1"]


def test_a_blob_is_written_once(storage: Storage, unique: str) -> None:
    assert storage.get(unique, "a/b") is None
    assert storage.put_new(unique, "a/b", b"first")
    assert not storage.put_new(unique, "a/b", b"second")
    assert storage.get(unique, "a/b") == b"first"


def test_an_empty_and_a_large_blob_come_back_whole(storage: Storage, unique: str) -> None:
    for name, data in (("empty", b""), ("large", bytes(range(256)) * 20_000)):
        assert storage.put_new(unique, name, data)
        assert storage.get(unique, name) == data


def test_a_part_of_a_blob_is_read(storage: Storage, unique: str) -> None:
    assert storage.get_part(unique, "b", 0, 1) is None
    storage.put_new(unique, "b", b"0123456789")
    assert storage.get_part(unique, "b", 3, 4) == b"3456"
    assert storage.get_part(unique, "b", 8, 10) == b"89"
    assert storage.get_part(unique, "b", 10, 5) == b""
    assert storage.get_part(unique, "other", 0, 1) is None


def test_a_blob_that_was_removed_is_gone_and_can_be_written_again(storage: Storage, unique: str) -> None:
    storage.delete_blob(unique, "a")
    storage.put_new(unique, "a", b"first")
    storage.put_new(unique, "ab", b"other")
    storage.delete_blob(unique, "a")
    storage.delete_blob(unique, "a")
    assert storage.get(unique, "a") is None
    assert [fact.name for fact in storage.blobs(unique)] == ["ab"]
    assert storage.put_new(unique, "a", b"second")
    assert storage.get(unique, "a") == b"second"


def test_a_listing_is_by_name_and_prefix_and_has_size_and_arrival(storage: Storage, unique: str) -> None:
    assert list(storage.blobs(unique)) == []
    for name in ("b/2", "a/1", "b/1"):
        storage.put_new(unique, name, b"xyz")
    assert [fact.name for fact in storage.blobs(unique)] == ["a/1", "b/1", "b/2"]
    blob_facts = list(storage.blobs(unique, "b/"))
    assert [(fact.name, fact.size) for fact in blob_facts] == [("b/1", 3), ("b/2", 3)]
    assert all(abs(fact.arrived - datetime.now(UTC)) < timedelta(minutes=5) for fact in blob_facts)


def test_a_row_is_inserted_once(storage: Storage, unique: str) -> None:
    row = Row(partition="p", key="k", values={"n": 1})
    assert storage.insert(unique, row)
    assert storage.insert(unique, replace(row, values={"n": 2})) is None
    stored_row = storage.read(unique, "p", "k")
    assert stored_row
    assert stored_row.values["n"] == 1


VALUES: dict[str, Value] = {
    "text": "ä ' \" \u2028 \u2029 \x85 \x00 𝄞",
    "text like parts": "a\r\n\r\n--batch\r\nHTTP/1.1 204 No Content\r\n",
    "empty": "",
    "bytes": bytes(range(256)) * 200,
    "number": -5,
    "as large as 32 bits": 2**31 - 1,
    "larger": 2**31,
    "largest": 2**63 - 1,
    "smallest": -(2**63),
    "yes": True,
    "no": False,
    "time": datetime(2026, 11, 21, 13, 0, 0, 123000, tzinfo=UTC),
    "time of another zone": datetime(2026, 11, 21, 13, 0, 0, 123456, tzinfo=timezone(timedelta(hours=-3))),
}


def test_every_kind_of_value_is_read_back_unchanged(storage: Storage, unique: str) -> None:
    names = {f"n{number}": value for number, value in enumerate(VALUES.values())}
    row = Row(partition="p", key="k", values=names)
    storage.upsert(unique, row)
    storage.transact(unique, [Operation(kind=OperationKind.INSERT, row=replace(row, key="l"))])
    for stored_row in (storage.read(unique, "p", "k"), *storage.partition(unique, "p")):
        assert stored_row
        assert dict(stored_row.values) == names


@pytest.mark.parametrize(
    "odd", ["with space", "o'quote", "ü|ö", "event|20261121T130000000000Z|START|ab", "~!*().,;=&+"]
)
def test_rows_with_special_characters_in_their_keys_are_found(storage: Storage, unique: str, odd: str) -> None:
    storage.insert(unique, Row(partition=odd, key=odd, values={"n": 1}))
    assert storage.read(unique, odd, odd)
    assert [row.key for row in storage.partition(unique, odd)] == [odd]
    assert storage.delete(unique, odd, odd)
    assert storage.read(unique, odd, odd) is None


def test_replacing_needs_the_etag_that_was_read(storage: Storage, unique: str) -> None:
    first = storage.insert(unique, Row(partition="p", key="k", values={"a": 1, "b": 1}))
    assert first
    second = storage.replace(unique, Row(partition="p", key="k", values={"a": 2}, etag=first))
    assert second
    assert second != first
    assert storage.replace(unique, Row(partition="p", key="k", values={"a": 3}, etag=first)) is None
    row = storage.read(unique, "p", "k")
    assert row
    assert (dict(row.values), row.etag) == ({"a": 2}, second), "replaced as a whole, not merged"


@pytest.mark.parametrize("number", [0, 1, 3, 4, 250])
def test_many_rows_are_written_at_once(storage: Storage, unique: str, number: int) -> None:
    rows = [Row(partition="p", key=f"k{n:03}", values={"n": n}) for n in range(number)]
    for written_rows in (rows, [replace(row, values={"m": 1}) for row in rows]):
        upsert_all(storage, unique, written_rows)
        stored_rows = [(row.key, dict(row.values)) for row in storage.partition(unique, "p")]
        assert stored_rows == [(row.key, dict(row.values)) for row in written_rows]


def test_rows_of_several_partitions_are_written_at_once(storage: Storage, unique: str) -> None:
    upsert_all(storage, unique, [Row(partition=partition, key="k") for partition in ("p", "q", "p")])
    assert [row.partition for row in storage.scan(unique)] == ["p", "q"]


def test_a_row_that_has_gone_cannot_be_replaced(storage: Storage, unique: str) -> None:
    etag = storage.insert(unique, Row(partition="p", key="k"))
    assert etag
    storage.delete(unique, "p", "k")
    assert storage.replace(unique, Row(partition="p", key="k", etag=etag)) is None


def test_deleting_by_etag_spares_a_row_that_changed(storage: Storage, unique: str) -> None:
    first = storage.upsert(unique, Row(partition="p", key="k", values={"n": 1}))
    second = storage.upsert(unique, Row(partition="p", key="k", values={"n": 2}))
    assert not storage.delete(unique, "p", "k", first)
    assert storage.read(unique, "p", "k")
    assert storage.delete(unique, "p", "k", second)
    assert storage.delete(unique, "p", "k", second), "gone is gone"


def test_an_empty_etag_matches_no_existing_row(storage: Storage, unique: str) -> None:
    storage.upsert(unique, Row(partition="p", key="k", values={"n": 1}))
    assert not storage.delete(unique, "p", "k", "")
    assert storage.replace(unique, Row(partition="p", key="k", values={"n": 2})) is None
    stored_row = storage.read(unique, "p", "k")
    assert stored_row
    assert stored_row.values["n"] == 1
    assert storage.delete(unique, "p", "other", ""), "gone is gone"


def test_a_partition_holds_its_own_rows_by_key(storage: Storage, unique: str) -> None:
    assert list(storage.partition(unique, "p")) == []
    assert list(storage.scan(unique)) == []
    for partition, key in (("p", "2"), ("q", "1"), ("p", "!"), ("p", "10")):
        storage.upsert(unique, Row(partition=partition, key=key))
    assert [row.key for row in storage.partition(unique, "p")] == ["!", "10", "2"]
    assert sorted((row.partition, row.key) for row in storage.scan(unique)) == [
        ("p", "!"),
        ("p", "10"),
        ("p", "2"),
        ("q", "1"),
    ]


def test_a_partition_of_more_than_one_page_is_read_completely(storage: Storage, unique: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: storage.insert(unique, Row(partition="p", key=f"{n:05}")), range(1100)))
    assert len(list(storage.partition(unique, "p"))) == 1100


def test_only_one_worker_holds_a_lease(storage: Storage, unique: str) -> None:
    lease = storage.lease(unique, 15)
    assert lease
    assert storage.lease(unique, 15) is None
    assert lease.renew()
    lease.release()
    second = storage.lease(unique, 15)
    assert second
    assert not lease.renew(), "what was let go and taken by another is lost"
    lease.release()
    assert storage.lease(unique, 15) is None, "a late release does not take it from the other"


def in_eight_threads(act: Callable[[int], object]) -> list[object]:
    """The results of eight threads that start at the same time."""
    barrier = threading.Barrier(8)

    def run(number: int) -> object:
        barrier.wait()
        return act(number)

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(run, range(8)))


def test_of_many_writers_at_once_exactly_one_wins(storage: Storage, unique: str) -> None:
    blobs = in_eight_threads(lambda n: storage.put_new(unique, "b", str(n).encode()))
    rows = in_eight_threads(lambda n: bool(storage.insert(unique, Row(partition="p", key="k", values={"n": n}))))
    leases = in_eight_threads(lambda _: storage.lease(unique, 15) is not None)
    assert [sum(map(bool, won)) for won in (blobs, rows, leases)] == [1, 1, 1]


def test_counting_with_etags_loses_nothing(storage: Storage, unique: str) -> None:
    storage.insert(unique, Row(partition="p", key="k", values={"n": 0}))

    def add(_: int) -> None:
        for _ in range(5):
            while True:
                row = storage.read(unique, "p", "k")
                assert row
                if storage.replace(unique, replace(row, values={"n": int(str(row.values["n"])) + 1})):
                    break

    in_eight_threads(add)
    stored_row = storage.read(unique, "p", "k")
    assert stored_row
    assert stored_row.values["n"] == 40


def test_unavailable_storage_raises_its_error() -> None:
    nowhere = "http://127.0.0.1:9/devstoreaccount1"
    key = "a2V5"
    connection = (
        f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={key};"
        f"BlobEndpoint={nowhere};TableEndpoint={nowhere};"
    )
    unreachable_storage = receiver_storage(load(catalog=False, environment={"AzureWebJobsStorage": connection}))
    attempts: list[Callable[[], object]] = [
        lambda: unreachable_storage.put_new("c", "b", b""),
        lambda: unreachable_storage.get("c", "b"),
        lambda: unreachable_storage.get_part("c", "b", 0, 1),
        lambda: unreachable_storage.delete_blob("c", "b"),
        lambda: list(unreachable_storage.blobs("c")),
        lambda: unreachable_storage.insert("t", Row(partition="p", key="k")),
        lambda: unreachable_storage.upsert("t", Row(partition="p", key="k")),
        lambda: unreachable_storage.replace("t", Row(partition="p", key="k", etag="e")),
        lambda: unreachable_storage.transact(
            "t", [Operation(kind=OperationKind.UPSERT, row=Row(partition="p", key="k"))]
        ),
        lambda: unreachable_storage.delete("t", "p", "k"),
        lambda: unreachable_storage.read("t", "p", "k"),
        lambda: list(unreachable_storage.partition("t", "p")),
        lambda: unreachable_storage.lease("l", 15),
    ]
    for attempt in attempts:
        with pytest.raises(StorageUnavailable) as error_info:
            attempt()
        assert key not in str(error_info.value)


@pytest.mark.parametrize(
    "row",
    [
        Row(partition="p", key="k", values={"b": b"x" * (64 * 1024 + 1)}),
        Row(partition="p", key="k", values={"t": "x" * (32 * 1024 + 1)}),
        Row(partition="p", key="a/b"),
        Row(partition="p#", key="k"),
    ],
    ids=["bytes", "text", "slash", "hash"],
)
def test_every_storage_refuses_rows_that_a_table_cannot_hold(storage: Storage, unique: str, row: Row) -> None:
    storage.insert(unique, Row(partition="p", key="other"))
    with pytest.raises((ValueError, HttpResponseError)):
        storage.insert(unique, row)


def test_cells_of_the_largest_size_are_stored(storage: Storage, unique: str) -> None:
    values: dict[str, Value] = {"b": bytes(64 * 1024), "t": "x" * (32 * 1024)}
    storage.insert(unique, Row(partition="p", key="k", values=values))
    stored_row = storage.read(unique, "p", "k")
    assert stored_row
    assert dict(stored_row.values) == values


class Refusing(BaseHTTPRequestHandler):
    """A service that answers every call with one status and code, and counts them."""

    status, code, calls, read_status = 503, "ServerBusy", 0, 404

    def do_PUT(self) -> None:
        """Blobs: the error as XML."""
        self._refuse(f"<Error><Code>{self.code}</Code></Error>")

    def do_DELETE(self) -> None:
        """Blobs: the same."""
        self.do_PUT()

    def do_GET(self) -> None:
        """The blobs that are there: none, if its status says so."""
        self.send_response(self.read_status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        """Rows: the error as JSON."""
        self._refuse(json.dumps({"odata.error": {"code": self.code, "message": {"value": "no"}}}))

    def _refuse(self, text: str) -> None:
        type(self).calls += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = text.encode()
        self.send_response(self.status)
        self.send_header("x-ms-error-code", self.code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def refusing() -> Iterator[tuple[type[Refusing], str]]:
    """The handler, to set its answer, and a connection string that leads to it."""
    handler = type("Handler", (Refusing,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}/devstoreaccount1"
        account = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=a2V5;"
        yield handler, f"{account}BlobEndpoint={place};TableEndpoint={place};"
        server.shutdown()


def test_the_receiver_calls_busy_storage_once(refusing: tuple[type[Refusing], str]) -> None:
    handler, connection = refusing
    settings = load(catalog=False, environment={"AzureWebJobsStorage": connection})
    storage = receiver_storage(settings)
    for attempt in (lambda: storage.put_new("c", "b", b""), lambda: storage.insert("t", Row(partition="p", key="k"))):
        handler.calls = 0
        with pytest.raises(StorageUnavailable):
            attempt()
        assert handler.calls == 1, "Spark waits, and comes again by itself"


@pytest.mark.parametrize("code", ["ContainerBeingDeleted", "TableBeingDeleted"])
def test_a_conflict_of_another_kind_does_not_mean_that_the_data_is_stored(
    refusing: tuple[type[Refusing], str], code: str
) -> None:
    handler, connection = refusing
    handler.status, handler.code = 409, code
    storage = receiver_storage(load(catalog=False, environment={"AzureWebJobsStorage": connection}))
    with pytest.raises(StorageUnavailable):
        storage.put_new("c", "b", b"")
    with pytest.raises(StorageUnavailable):
        storage.insert("t", Row(partition="p", key="k"))


@pytest.mark.parametrize("code", ["BlobImmutableDueToPolicy", "BlobImmutableDueToLegalHold"])
def test_a_blob_that_a_policy_keeps_is_neither_deleted_nor_written_anew(
    refusing: tuple[type[Refusing], str], code: str
) -> None:
    handler, connection = refusing
    handler.status, handler.code, handler.read_status = 409, code, 206
    storage = receiver_storage(load(catalog=False, environment={"AzureWebJobsStorage": connection}))
    assert storage.delete_blob("archive", "b") is False
    assert storage.put_new("archive", "b", b"") is False, "it is there"
    handler.read_status = 404
    with pytest.raises(StorageUnavailable, match="refuses new blobs"):
        storage.put_new("archive", "b", b"")
    handler.code = "ContainerBeingDeleted"
    with pytest.raises(StorageUnavailable):
        storage.delete_blob("archive", "b")


def test_requests_use_the_proxy_except_for_excluded_hosts(refusing: tuple[type[Refusing], str]) -> None:
    handler, connection = refusing
    proxy = connection.partition("BlobEndpoint=")[2].partition("/devstore")[0]
    far = connection.replace(proxy, "http://storage.invalid")
    for variables, calls in (
        ({"HTTP_PROXY": proxy}, 1),
        ({"http_proxy": proxy, "NO_PROXY": "other.invalid"}, 1),
        ({"HTTP_PROXY": proxy, "no_proxy": ".invalid"}, 0),
    ):
        handler.calls = 0
        storage = receiver_storage(load(catalog=False, environment={"AzureWebJobsStorage": far, **variables}))
        with pytest.raises(StorageUnavailable) as error_info:
            storage.put_new("c", "b", b"")
        assert handler.calls == calls, (variables, str(error_info.value))
