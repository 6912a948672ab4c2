"""Targets over HTTP: an end point of OpenLineage, an event hub, a folder of a storage account. One attempt for a call.

Sources: OpenLineage's API (`POST /lineage`), Marquez (`/api/v1/lineage`), DataHub's "OpenLineage"
(`/openapi/openlineage/api/v1/lineage`), OpenMetadata's "OpenLineage Events" (`/api/v1/openlineage/lineage`); Event Hubs
REST "Send event" (201, `BrokerProperties`); Blob service REST "Put Blob" (201, `x-ms-blob-type`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit, urlunsplit

import requests

from shared.errors import Retry, retry_after
from shared.forwarding.content import OutgoingEvent
from shared.forwarding.port import SignIn
from shared.forwarding.rules import TargetKind
from shared.http_errors import NO_ANSWER, TAKEN, Answer, Never, NotNow, name_of
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
_REFUSALS = frozenset({400, 413, 415, 422})
"""The event is wrong for this target: it is as wrong the next time. All else may be mended, or mends itself."""
_MAX_WHY = 200


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
        """As the port says. Redirects are not followed: the body is for this address alone."""
        try:
            headers = {**self._headers(event), **self.sign_in()}
            with requests.request(
                "PUT" if self.kind is TargetKind.FOLDER else "POST",
                self._address(event),
                data=event.body,
                headers=headers,
                timeout=(self.connect, self.answer),
                allow_redirects=False,
                stream=True,  # the answer's body may hold what no log should
            ) as response:
                return _answer(response)
        except Retry as error:
            return NotNow(why=str(error))
        except NO_ANSWER as error:
            return NotNow(why=name_of(error))  # its text holds the address

    def _address(self, event: OutgoingEvent) -> str:
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        if self.kind is TargetKind.FOLDER:
            path = f"{path}/{event.time:%Y/%m/%d}/{quote(event.run_id)}-{event.digest}.json"
        elif self.kind is TargetKind.EVENTHUB:
            path = path if path.endswith(PATHS[self.kind]) else f"{path}{PATHS[self.kind]}"
        return urlunsplit(parts._replace(path=path or PATHS[self.kind]))

    def _headers(self, event: OutgoingEvent) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "throughline"}
        if self.kind is TargetKind.FOLDER:
            return {**headers, "x-ms-blob-type": "BlockBlob", "x-ms-version": _BLOB_API}
        if self.kind is TargetKind.EVENTHUB:
            return {**headers, "BrokerProperties": json.dumps({"PartitionKey": event.run_id})}
        return {**headers, ORIGIN_HEADER: self.origin} if self.origin else headers


def _answer(response: requests.Response) -> Answer:
    status = response.status_code
    if 200 <= status < 300:  # noqa: PLR2004 - the class of success
        return TAKEN
    reason = f"HTTP {status} {response.reason or ''}".strip()[:_MAX_WHY]
    if status in _REFUSALS:
        return Never(why=reason)
    return NotNow(why=reason, after=retry_after(response.headers.get("Retry-After", "")))
