"""The host's view of storage: listed blobs, downloaded blobs, and queue messages."""

import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

META = "x-ms-meta-"


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
class Blob:
    """A blob as downloaded; `properties` are the answer's headers, in lower case."""

    url: str
    data: bytes
    properties: Mapping[str, str]

    @property
    def etag(self) -> str:
        """Its version, in quotes as storage writes it."""
        return self.properties["etag"]

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of its writer."""
        return {key.removeprefix(META): text for key, text in self.properties.items() if key.startswith(META)}


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

    def json(self) -> dict[str, Any]:
        """Return its content; ValueError when it is not Base64 of a JSON object."""
        content = json.loads(self.content())
        if not isinstance(content, dict):
            raise ValueError("not an object")  # noqa: TRY004 -- the same error for whatever is wrong with it
        return content
