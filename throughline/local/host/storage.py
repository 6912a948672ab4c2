"""The host's own storage calls, counted by kind.

They are plain HTTP with one SAS instead of the SDK: the host shares its cores with the functions, and the SDK takes
three times the CPU for a call, and about a tenth of a millisecond for every listed blob, too much for watching a full
container. Reference: https://learn.microsoft.com/rest/api/storageservices/
"""

import hmac
import json
import threading
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode
from xml.etree import ElementTree as ET

import urllib3

VERSION = "2021-12-02"
_DEVELOPMENT = (
    "AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1"
)
_PAGE = "5000"
_NOT_FOUND = 404
_CONFLICT = 409


class Listed(NamedTuple):
    """A blob in a listing: the ETag in quotes, the time as an HTTP date, the size in bytes."""

    name: str
    etag: str
    last_modified: str
    size: int

    @property
    def modified(self) -> datetime:
        """When it was written, in whole seconds."""
        return parsedate_to_datetime(self.last_modified)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMessage:
    """A queue message that this host holds until it becomes visible again; `receipt` proves the hold."""

    id: str
    receipt: str
    text: str
    tries: int

    def content(self) -> str:
        """Return its text; ValueError when it is not Base64 of a text in UTF-8."""
        return b64decode(self.text, validate=True).decode()


class StorageError(Exception):
    """A storage call failed; the message has the call and the answer, never the signature."""


class HostStorage:
    """The blobs and queues of one Azurite, by a connection string with endpoints and key. Safe to use from threads."""

    def __init__(self, connection_string: str, calls: Counter[str]) -> None:
        if connection_string.startswith("UseDevelopmentStorage=true"):
            connection_string = _DEVELOPMENT
        parts = dict(part.split("=", 1) for part in connection_string.strip(";").split(";"))
        self._blobs, self._queues = (parts[name].rstrip("/") for name in ("BlobEndpoint", "QueueEndpoint"))
        self._sas = _signature(parts["AccountName"], parts["AccountKey"])
        retries = urllib3.Retry(
            3, allowed_methods=None, status_forcelist=(500, 503), backoff_factor=0.1, raise_on_status=False
        )
        self._http = urllib3.PoolManager(maxsize=32, retries=retries, timeout=urllib3.Timeout(connect=5, read=60))
        self._calls = calls
        self._counting = threading.Lock()

    def list_blobs(self, container: str, prefix: str, marker_before: str = "") -> Iterator[Listed]:
        """Yield every blob, those after the name `marker_before` if given; nothing when the container does not exist.

        Azurite's marker is a page's last name; Azure's is opaque.
        """
        marker: str | None = marker_before
        while marker is not None:
            query = {"restype": "container", "comp": "list", "prefix": prefix, "maxresults": _PAGE, "marker": marker}
            answer = self._call("list blobs", "GET", f"{self._blobs}/{container}", query, accept=(_NOT_FOUND,))
            if answer.status == _NOT_FOUND:
                return
            page = ET.fromstring(answer.data)  # noqa: S314 -- from our own storage
            yield from map(_listed, page.iterfind("Blobs/Blob"))
            marker = page.findtext("NextMarker") or None

    def get_blob(self, container: str, name: str) -> bytes | None:
        """Download a whole blob; return None when it does not exist."""
        answer = self._call("get blob", "GET", self.blob_url(container, name), {}, accept=(_NOT_FOUND,))
        return None if answer.status == _NOT_FOUND else answer.data

    def create_queue(self, queue: str) -> None:
        """Create it unless it exists."""
        self._call("create queue", "PUT", f"{self._queues}/{queue}", {}, accept=(_CONFLICT,))

    def count_messages(self, queue: str) -> int:
        """Return the approximate number of messages, including invisible ones; 0 when the queue does not exist."""
        query = {"comp": "metadata"}
        answer = self._call("count messages", "GET", f"{self._queues}/{queue}", query, accept=(_NOT_FOUND,))
        return int(answer.headers.get("x-ms-approximate-messages-count", "0"))

    def put_message(self, queue: str, content: Mapping[str, Any]) -> None:
        """Queue a JSON object without expiry, in Base64 as the WebJobs SDK does."""
        self.put_text(queue, b64encode(json.dumps(content).encode()).decode())

    def put_text(self, queue: str, text: str) -> None:
        """Queue a text that needs no escaping in XML, without expiry."""
        body = f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>".encode()
        self._call("put message", "POST", f"{self._queues}/{queue}/messages", {"messagettl": "-1"}, body=body)

    def get_messages(self, queue: str, count: int, visibility: int) -> list[QueueMessage]:
        """Take up to `count` (at most 32) messages for `visibility` seconds."""
        query = {"numofmessages": str(count), "visibilitytimeout": str(visibility)}
        answer = self._call("get messages", "GET", f"{self._queues}/{queue}/messages", query)
        return [
            QueueMessage(
                id=message.findtext("MessageId", ""),
                receipt=message.findtext("PopReceipt", ""),
                text=message.findtext("MessageText", ""),
                tries=int(message.findtext("DequeueCount", "1")),
            )
            for message in ET.fromstring(answer.data).iterfind("QueueMessage")  # noqa: S314 -- from our own storage
        ]

    def hold_message(self, queue: str, message: QueueMessage, seconds: int) -> str | None:
        """Hide a message for `seconds` from now and return its new receipt; None when it is no longer held."""
        query = {"popreceipt": message.receipt, "visibilitytimeout": str(seconds)}
        body = f"<QueueMessage><MessageText>{message.text}</MessageText></QueueMessage>".encode()
        answer = self._call(
            "hold message", "PUT", self._message_url(queue, message), query, body=body, accept=(400, _NOT_FOUND)
        )
        return answer.headers.get("x-ms-popreceipt")

    def delete_message(self, queue: str, message: QueueMessage) -> bool:
        """Delete a message; return False when it is no longer held."""
        query = {"popreceipt": message.receipt}
        answer = self._call(
            "delete message", "DELETE", self._message_url(queue, message), query, accept=(400, _NOT_FOUND)
        )
        return answer.status < 400  # noqa: PLR2004 -- any refusal

    def blob_url(self, container: str, name: str) -> str:
        """Return the URL of a blob, without a signature."""
        return f"{self._blobs}/{container}/{quote(name, safe='/')}"

    def _message_url(self, queue: str, message: QueueMessage) -> str:
        return f"{self._queues}/{queue}/messages/{message.id}"

    def _call(
        self,
        kind: str,
        method: str,
        url: str,
        query: Mapping[str, str],
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        accept: tuple[int, ...] = (),
    ) -> urllib3.BaseHTTPResponse:
        with self._counting:
            self._calls[kind] += 1
        signed = f"{url}?{urlencode(query)}&{self._sas}" if query else f"{url}?{self._sas}"
        try:
            answer = self._http.request(method, signed, headers={"x-ms-version": VERSION, **(headers or {})}, body=body)
        except urllib3.exceptions.HTTPError as error:
            cause = getattr(error, "reason", None) or error
            raise StorageError(f"{kind}: no answer from {url}: {type(cause).__name__}") from error
        if answer.status >= 400 and answer.status not in accept:  # noqa: PLR2004 -- any refusal
            raise StorageError(f"{kind}: {method} {url} was answered {answer.status}: {answer.data[:300]!r}")
        return answer


def _signature(account: str, key: str) -> str:
    """An account SAS for a year, all services' blobs and queues: https://learn.microsoft.com/rest/api/storageservices/create-account-sas.

    It does not use the SDK, whose import takes half of the host's start.
    """
    expiry = (datetime.now(UTC) + timedelta(days=365)).strftime("%Y-%m-%dT%H:%M:%SZ")
    query = {"ss": "bq", "srt": "sco", "sp": "rwdlacup", "se": expiry, "sv": VERSION}
    parts = [account, query["sp"], query["ss"], query["srt"], "", expiry, "", "", VERSION, "", ""]
    digest = hmac.digest(b64decode(key), "\n".join(parts).encode(), "sha256")
    return urlencode(query | {"sig": b64encode(digest).decode()})


def _listed(blob: ET.Element) -> Listed:
    return Listed(
        name=blob.findtext("Name", ""),
        etag=f'"{blob.findtext("Properties/Etag", "").strip(chr(34))}"',
        last_modified=blob.findtext("Properties/Last-Modified", ""),
        size=int(blob.findtext("Properties/Content-Length", "0")),
    )
