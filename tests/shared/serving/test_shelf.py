"""Published documents on the shelf: newer ones come beside requests, and a damaged one leaves the last good one."""

import gzip
from collections.abc import Callable
from datetime import date

import pytest

from shared.errors import StorageUnavailable
from shared.lineage.days import difference
from shared.lineage.document import LineageDocument, encoded
from shared.serving.requests import Request
from shared.serving.service import PROBLEM, LineageService
from shared.serving.shelf import NotPublishedError, NotReadableError, PublishedDocuments
from shared.storage.memory import MemoryStorage
from shared.storage_layout import NEWEST, PUBLISHED, daily_document
from shared.telemetry.port import Acts
from tests.shared.serving.documents import CLEAN, MART, SIDE, estate, get


class Shelf:
    """A shelf on a storage whose clock and threads the test has in its hands."""

    def __init__(self) -> None:
        self.storage, self.seconds = MemoryStorage(), 0.0
        self.work: list[Callable[[], None]] = []
        self.lines: list[dict[str, object]] = []
        self.documents = PublishedDocuments(
            self.storage,
            seconds=lambda: self.seconds,
            start=self.work.append,
            telemetry=Acts(lambda act: self.lines.append(dict(act.facts))),
        )

    def put(self, name: str, document: LineageDocument | bytes) -> None:
        data = document if isinstance(document, bytes) else gzip.compress(encoded(document))
        assert self.storage.put_new(PUBLISHED, name, data)

    def pass_time(self) -> None:
        """A request after the time when a newer document is looked for, and the thread that it starts."""
        self.seconds += 20
        self.documents.newest()
        while self.work:
            self.work.pop()()


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.put(f"{NEWEST}20261120T100000000000Z-a.json.gz", estate(CLEAN))
    return shelf


def test_a_newer_document_is_read_beside_requests(shelf: Shelf) -> None:
    first = shelf.documents.newest()
    shelf.put(f"{NEWEST}20261121T100000000000Z-b.json.gz", estate(CLEAN, MART))
    assert shelf.documents.newest() is first, "it is not time yet"
    shelf.seconds += 20
    assert shelf.documents.newest() is first, "a thread reads the newer one"
    assert len(shelf.work) == 1
    shelf.work.pop()()
    assert len(shelf.documents.newest().document.processes) == 2


def test_an_unreadable_document_leaves_the_last_good_one_and_says_so(shelf: Shelf) -> None:
    served = LineageService(shelf.documents)
    assert PROBLEM not in get(served, "namespaces").headers
    shelf.put(f"{NEWEST}20261121T100000000000Z-b.json.gz", b"damaged")
    shelf.pass_time()
    response = get(served, "namespaces")
    assert response.status == 200
    assert "cannot be read" in response.headers[PROBLEM]
    get(served, "namespaces")
    assert [line["state"] for line in shelf.lines] == ["unreadable"], "it is reported once"
    shelf.put(f"{NEWEST}20261122T100000000000Z-c.json.gz", estate(MART))
    shelf.pass_time()
    assert PROBLEM not in get(served, "namespaces").headers


@pytest.mark.parametrize("name", [f"{NEWEST}20261120T100000000000Z-a.json.gz", daily_document(date(2026, 11, 20))])
def test_a_process_that_starts_serves_the_last_good_document_of_a_damaged_one(name: str) -> None:
    shelf = Shelf()
    shelf.put(name, estate(CLEAN))
    shelf.put(f"{NEWEST}20261121T100000000000Z-b.json.gz", b"damaged")
    served = LineageService(shelf.documents)
    for response in (get(served, "namespaces"), get(served, "namespaces", as_of="2026-11-22")):
        assert response.status == 200
        assert "the newest document cannot be read" in response.headers[PROBLEM]
    assert [line["state"] for line in shelf.lines] == ["unreadable"]
    shelf.put(f"{NEWEST}20261122T100000000000Z-c.json.gz", estate(MART))
    shelf.pass_time()
    assert PROBLEM not in get(served, "namespaces").headers


def test_without_a_document_the_responsesays_what_to_do() -> None:
    served = LineageService(PublishedDocuments(MemoryStorage()))
    response = get(served, "namespaces")
    assert response.status == 404
    assert b"THROUGHLINE_DOCUMENT" in response.body


def test_storage_that_does_not_responseis_tried_again(monkeypatch: pytest.MonkeyPatch, shelf: Shelf) -> None:
    def away(*_: object) -> object:
        raise StorageUnavailable("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(shelf.storage, "blobs", away)
        response = get(LineageService(shelf.documents), "namespaces")
        assert (response.status, response.headers["Retry-After"]) == (503, "30")
    assert get(LineageService(shelf.documents), "namespaces").status == 200


def test_a_document_of_another_format_is_not_readable() -> None:
    shelf = Shelf()
    shelf.put(
        f"{NEWEST}20261120T100000000000Z-a.json.gz",
        gzip.compress(encoded(estate()).replace(b'"format":2', b'"format":9')),
    )
    with pytest.raises(NotReadableError, match="format 9"):
        shelf.documents.newest()


def test_the_page_of_a_day_without_a_document_is_a_sentence(shelf: Shelf) -> None:
    request = Request(path="", query={"as_of": "2026-11-01"})
    response = LineageService(shelf.documents).answer(request)
    assert (response.status, response.headers["Content-Type"]) == (404, "text/plain; charset=utf-8")
    assert response.body == b"there is no document of 2026-11-01 or before: there is none of an earlier day yet\n"


def test_as_of_a_day_is_its_last_document_or_the_one_before(shelf: Shelf) -> None:
    shelf.put(daily_document(date(2026, 11, 10)), estate(MART))
    shelf.put(daily_document(date(2026, 11, 15)), estate(CLEAN, MART))
    documents = shelf.documents
    assert len(documents.of(date(2026, 11, 20)).document.processes) == 1
    assert documents.of(date(2026, 12, 1)) is documents.newest(), "nothing has changed since"
    assert len(documents.of(date(2026, 11, 17)).document.processes) == 2
    assert documents.of(date(2026, 11, 11)).document.processes[0].identity == "mart"
    assert documents.days() == (date(2026, 11, 10), date(2026, 11, 15))
    with pytest.raises(NotPublishedError, match="the first one is of 2026-11-10"):
        documents.of(date(2026, 11, 9))


@pytest.fixture
def days(shelf: Shelf) -> Shelf:
    """A whole document of one day, and the differences of two others."""
    base = date(2026, 11, 10)
    shelf.put(daily_document(base), estate(MART))
    for day, document in ((12, estate(CLEAN, MART)), (14, estate(SIDE))):
        small = gzip.compress(difference(estate(MART), base, document))
        shelf.put(daily_document(date(2026, 11, day), base), small)
    return shelf


def test_as_of_reads_differences(days: Shelf) -> None:
    assert days.documents.days() == tuple(date(2026, 11, day) for day in (10, 12, 14))
    for day, document in ((11, estate(MART)), (13, estate(CLEAN, MART)), (15, estate(SIDE))):
        assert encoded(days.documents.of(date(2026, 11, day)).document) == encoded(document)


def test_a_damaged_difference_leaves_the_last_good_one_and_says_so(days: Shelf) -> None:
    name = daily_document(date(2026, 11, 14), date(2026, 11, 10))
    days.storage.delete_blob(PUBLISHED, name)
    days.put(name, gzip.compress(b'{"base":"2026-11-10"}'))
    served = LineageService(days.documents)
    for _ in range(2):
        for response in (
            get(served, "namespaces", as_of="2026-11-15"),
            get(served, "throughline/compare", from_="2026-11-15"),
        ):
            assert response.status == 200
            assert "the document of 2026-11-14 cannot be read: this is no difference" in response.headers[PROBLEM]
    assert len(days.documents.of(date(2026, 11, 15)).document.processes) == 2, "that of 2026-11-12"
    assert [line["state"] for line in days.lines] == ["unreadable"], "it is read and reported once"
    assert PROBLEM not in get(served, "namespaces", as_of="2026-11-13").headers
    assert PROBLEM not in get(served, "namespaces").headers


def test_a_lost_base_is_named(days: Shelf) -> None:
    days.storage.delete_blob(PUBLISHED, daily_document(date(2026, 11, 10)))
    response = get(LineageService(days.documents), "namespaces", as_of="2026-11-15")
    assert response.status == 503
    assert b"the document of 2026-11-14 cannot be read: daily/2026-11-10.json.gz is gone" in response.body


def test_the_page_of_two_days_begins_with_the_changes(days: Shelf) -> None:
    served = LineageService(days.documents)
    query = {"compare": "2026-11-10", "as_of": "2026-11-12"}
    response = served.answer(Request(path="", query=query))
    assert response.status == 200
    assert b"compare=2026-11-10T23%3A59%3A59.999000Z" in response.body
    assert b"<title>Lineage of 2026-11-12 compared with 2026-11-10</title>" in response.body
    repeated = served.answer(Request(path="", query=query, headers={"if-none-match": response.headers["ETag"]}))
    assert repeated.status == 304
    assert served.answer(Request(path="", query={"compare": "soon"})).status == 400


def test_two_days_are_compared(shelf: Shelf) -> None:
    shelf.put(daily_document(date(2026, 11, 15)), estate(MART))
    served = LineageService(shelf.documents)
    response = get(served, "throughline/compare", from_="2026-11-15", to="2026-11-20")
    assert response.status == 200
    assert CLEAN.process.qualified_name.encode() in response.body
    repeated = get(served, "throughline/compare", {"if-none-match": response.headers["ETag"]}, from_="2026-11-15")
    assert repeated.status == 304
