"""Targets over HTTP: an end point of OpenLineage, an event hub, a folder of a storage account. One attempt for a call.

Sources: OpenLineage's API (`POST /lineage`), Marquez (`/api/v1/lineage`), DataHub's "OpenLineage"
(`/openapi/openlineage/api/v1/lineage`), OpenMetadata's "OpenLineage Events" (`/api/v1/openlineage/lineage`); Event Hubs
REST "Send event" (201, `BrokerProperties`); Blob service REST "Put Blob" (201, `x-ms-blob-type`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit, urlunsplit

from shared.errors import Retry
from shared.forwarding.content import OutgoingEvent, SignIn
from shared.forwarding.rules import TargetKind
from shared.http_errors import Answer, NotNow, send
from shared.versions import ORIGIN_HEADER

CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 30.0
PATHS: Mapping[TargetKind, str] = {
    TargetKind.OPENLINEAGE: "/api/v1/lineage",
    TargetKind.MARQUEZ: "/api/v1/lineage",
    TargetKind.DATAHUB: "/openapi/openlineage/api/v1/lineage",
    TargetKind.OPENMETADATA: "/api/v1/openlineage/lineage",
    TargetKind.EVENTHUB: "/messages",
}
"""The path of each kind; of a target whose address has one, that one is used (behind an event hub's name, this)."""
SCOPES: Mapping[TargetKind, str] = {
    TargetKind.EVENTHUB: "https://eventhubs.azure.net/.default",
    TargetKind.FOLDER: "https://storage.azure.com/.default",
}
"""For what a token of the identity is asked, where the rules name no scope."""
_BLOB_API = "2021-08-06"


def no_headers() -> Mapping[str, str]:
    """For a target that does not ask who we are."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTarget:
    """A target.

    - `url`: its address. It may hold a key, so no print shows it. `kind`: decides path, method and headers.
    - `sign_in`: as the port says. `origin`: names this installation.
    - `connect`, `answer`: seconds to wait.
    """

    url: str = field(repr=False)
    kind: TargetKind
    sign_in: SignIn = no_headers
    origin: str = ""
    connect: float = CONNECT_SECONDS
    answer: float = ANSWER_SECONDS

    def send(self, event: OutgoingEvent) -> Answer:
        """As the port says."""
        try:
            headers = {**self._headers(event), **self.sign_in()}
        except Retry as error:
            return NotNow(why=str(error))
        method = "PUT" if self.kind is TargetKind.FOLDER else "POST"
        return send(method, self._address(event), event.body, headers, (self.connect, self.answer))

    def _address(self, event: OutgoingEvent) -> str:
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        if self.kind is TargetKind.FOLDER:
            path = f"{path}/{event.time:%Y/%m/%d}/{quote(event.run_id)}-{event.digest}.json"
        elif self.kind is TargetKind.EVENTHUB:
            path = path if path.endswith(PATHS[self.kind]) else f"{path}{PATHS[self.kind]}"
        return urlunsplit(parts._replace(path=path or PATHS[self.kind]))

    def _headers(self, event: OutgoingEvent) -> dict[str, str]:
        if self.kind is TargetKind.FOLDER:
            return {"x-ms-blob-type": "BlockBlob", "x-ms-version": _BLOB_API}
        if self.kind is TargetKind.EVENTHUB:
            return {"BrokerProperties": json.dumps({"PartitionKey": event.run_id})}
        return {ORIGIN_HEADER: self.origin} if self.origin else {}
