"""The host's own storage calls, counted by kind.

They are plain HTTP with one SAS instead of the SDK: the host shares its cores with the functions, and the SDK takes
three times the CPU for a call, and about a tenth of a millisecond for every listed blob, too much for polling a full
container. Reference: https://learn.microsoft.com/rest/api/storageservices/
"""

import hmac
import json
import threading
import uuid
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree as ET

import urllib3

from throughline.local.host.blobs.stored import META, Blob, Listed, QueueMessage

VERSION = "2021-12-02"
_DEVELOPMENT = (
    "AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1"
)
_PAGE = 5000
_NOT_FOUND = 404
_CONFLICT = 409
_CREATED = 201
_FORBIDDEN = (401, 403)
_LEASE_SECONDS = 30  # the lease of a receipt, as in the real host


class StorageError(Exception):
    """A storage call failed; the message has the call and the answer, never the signature."""


class StorageRefusedError(StorageError):
    """Storage answered 401 or 403: a retry would not help."""


class HostStorage:
    """The blobs and queues of one account, named by a connection string with a key. Safe to use from threads."""

    def __init__(self, connection_string: str, calls: Counter[str]) -> None:
        if connection_string.startswith("UseDevelopmentStorage=true"):
            connection_string = _DEVELOPMENT
        parts = dict(part.split("=", 1) for part in connection_string.strip(";").split(";"))
        account = parts["AccountName"]
        self.account = account
        self.emulated = account == "devstoreaccount1"
        domain = parts.get("EndpointSuffix", "core.windows.net")
        usual = f"{parts.get('DefaultEndpointsProtocol', 'https')}://{account}.{{}}.{domain}"
        self._blobs = parts.get("BlobEndpoint", usual.format("blob")).rstrip("/")
        self._queues = parts.get("QueueEndpoint", usual.format("queue")).rstrip("/")
        self._sas = _signature(account, parts["AccountKey"])
        retries = urllib3.Retry(
            3, allowed_methods=None, status_forcelist=(500, 503), backoff_factor=0.1, raise_on_status=False
        )
        self._http = urllib3.PoolManager(maxsize=32, retries=retries, timeout=urllib3.Timeout(connect=5, read=60))
        self._calls = calls
        self._counting = threading.Lock()

    def create_container(self, container: str) -> None:
        """Create it unless it exists."""
        self._call(
            "create container", "PUT", f"{self._blobs}/{container}", {"restype": "container"}, accept=(_CONFLICT,)
        )

    def list_blobs(self, container: str, prefix: str, after: str = "") -> Iterator[Listed]:
        """Yield every blob, those after the name `after` if given; nothing when the container does not exist.

        `after` works with `emulated` storage only: Azurite's marker is the last name of a page, Azure's is opaque.
        """
        marker: str | None = after
        while marker is not None:
            page, marker = self.list_page(container, prefix, marker, _PAGE)
            yield from page

    def list_page(self, container: str, prefix: str, marker: str, most: int) -> tuple[list[Listed], str | None]:
        """List up to `most` (at most 5,000) blobs from a marker on ("": the start).

        Returns them and the next marker, None at the end.
        """
        query = {"restype": "container", "comp": "list", "prefix": prefix, "maxresults": str(most), "marker": marker}
        answer = self._call("list blobs", "GET", f"{self._blobs}/{container}", query, accept=(_NOT_FOUND,))
        if answer.status == _NOT_FOUND:
            return [], None
        page = ET.fromstring(answer.data)  # noqa: S314 -- from our own storage
        return [_listed(blob) for blob in page.iterfind("Blobs/Blob")], page.findtext("NextMarker") or None

    def get_blob(self, container: str, name: str, *, kind: str = "get blob") -> Blob | None:
        """Download a whole blob, counted as `kind`; return None when it does not exist."""
        answer = self._call(kind, "GET", self.blob_url(container, name), {}, accept=(_NOT_FOUND,))
        if answer.status == _NOT_FOUND:
            return None
        properties = {key.lower(): text for key, text in answer.headers.items()}
        return Blob(url=self.blob_url(container, name), data=answer.data, properties=properties)

    def head_blob(self, container: str, name: str) -> Blob | None:
        """Return a blob without its content; None when it does not exist."""
        url = self.blob_url(container, name)
        answer = self._call("head blob", "HEAD", url, {}, accept=(_NOT_FOUND,))
        if answer.status == _NOT_FOUND:
            return None
        return Blob(url=url, data=b"", properties={key.lower(): text for key, text in answer.headers.items()})

    def put_blob(
        self,
        container: str,
        name: str,
        data: bytes = b"",
        *,
        fresh: Mapping[str, str] | None = None,
        kind: str = "put blob",
    ) -> bool:
        """Write a blob, counted as `kind`. With the metadata `fresh`, only a new one: return False if it exists."""
        headers = {"x-ms-blob-type": "BlockBlob"}
        if fresh is not None:
            headers |= {"If-None-Match": "*"} | {f"{META}{key}": text for key, text in fresh.items()}
        accept = () if fresh is None else (_CONFLICT, 412)
        url = self.blob_url(container, name)
        return self._call(kind, "PUT", url, {}, headers=headers, body=data, accept=accept).status == _CREATED

    def lease_blob(self, container: str, name: str) -> str | None:
        """Take a lease of 30 seconds and return its id; None when the blob is leased or does not exist."""
        headers = {
            "x-ms-lease-action": "acquire",
            "x-ms-lease-duration": str(_LEASE_SECONDS),
            "x-ms-proposed-lease-id": str(uuid.uuid4()),
        }
        url, accept = self.blob_url(container, name), (_NOT_FOUND, _CONFLICT)
        answer = self._call("lease blob", "PUT", url, {"comp": "lease"}, headers=headers, accept=accept)
        return answer.headers.get("x-ms-lease-id") if answer.status == _CREATED else None

    def set_metadata(self, container: str, name: str, metadata: Mapping[str, str], lease: str) -> None:
        """Replace the metadata of a leased blob. Does nothing when the lease or the blob is gone."""
        headers = {"x-ms-lease-id": lease} | {f"{META}{key}": text for key, text in metadata.items()}
        url = self.blob_url(container, name)
        self._call("set metadata", "PUT", url, {"comp": "metadata"}, headers=headers, accept=(_NOT_FOUND, 412))

    def release_blob(self, container: str, name: str, lease: str) -> None:
        """End a lease, unless it or the blob is gone."""
        headers = {"x-ms-lease-action": "release", "x-ms-lease-id": lease}
        url, accept = self.blob_url(container, name), (_NOT_FOUND, _CONFLICT)
        self._call("release blob", "PUT", url, {"comp": "lease"}, headers=headers, accept=accept)

    def log_writes(self) -> None:
        """Turn on the account's log of writes to blobs, kept for 7 days. Raises StorageRefusedError."""
        query = {"restype": "service", "comp": "properties"}
        answer = self._call("get service properties", "GET", f"{self._blobs}/", query)
        properties = ET.fromstring(answer.data)  # noqa: S314 -- from our own storage
        write = properties.find("Logging/Write")
        if write is None or write.text == "true":
            return
        write.text = "true"
        retention = properties.find("Logging/RetentionPolicy")
        if retention is not None:
            retention.clear()
            for name, text in (("Enabled", "true"), ("Days", "7")):
                ET.SubElement(retention, name).text = text
        self._call("set service properties", "PUT", f"{self._blobs}/", query, body=ET.tostring(properties))

    def delete_blob(self, container: str, name: str) -> None:
        """Delete it if it exists."""
        self._call("delete blob", "DELETE", self.blob_url(container, name), {}, accept=(_NOT_FOUND,))

    def create_queue(self, queue: str) -> None:
        """Create it unless it exists."""
        self._call("create queue", "PUT", f"{self._queues}/{queue}", {}, accept=(_CONFLICT,))

    def count_messages(self, queue: str) -> int:
        """Return the approximate number of messages, including invisible ones."""
        answer = self._call("count messages", "GET", f"{self._queues}/{queue}", {"comp": "metadata"})
        return int(answer.headers["x-ms-approximate-messages-count"])

    def put_message(self, queue: str, content: Mapping[str, Any]) -> None:
        """Queue a JSON object without expiry, in Base64 as the WebJobs SDK does."""
        self.put_raw_message(queue, b64encode(json.dumps(content).encode()).decode())

    def put_raw_message(self, queue: str, text: str) -> None:
        """Queue a text that needs no escaping in XML, without expiry.

        A missing queue is created, as by AddMessageAndCreateIfNotExistsAsync of the WebJobs SDK.
        """
        if not self._put(queue, text, accept=(_NOT_FOUND,)):
            self.create_queue(queue)
            self._put(queue, text)

    def _put(self, queue: str, text: str, accept: tuple[int, ...] = ()) -> bool:
        """Queue a text. False if the queue is missing, and this status accepted."""
        body = f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>".encode()
        url = f"{self._queues}/{queue}/messages"
        return (
            self._call("put message", "POST", url, {"messagettl": "-1"}, body=body, accept=accept).status != _NOT_FOUND
        )

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
            kind_of_error = StorageRefusedError if answer.status in _FORBIDDEN else StorageError
            raise kind_of_error(f"{kind}: {method} {url} was answered {answer.status}: {answer.data[:300]!r}")
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
