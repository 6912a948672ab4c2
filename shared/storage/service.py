"""Requests to one service of a storage account, through azure-core's pipeline, with our own errors.

Credentials are applied, and calls are retried, by the policies of azure-core and of the SDKs. What the SDKs do beside
that for a call (models, parsers, thread pools) takes most of their time, and is not done here.
"""

import re
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential, TokenCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.core.pipeline import Pipeline, PipelineRequest
from azure.core.pipeline.policies import HTTPPolicy, RetryPolicy, SansIOHTTPPolicy
from azure.core.rest import HttpRequest
from azure.data.tables import TableServiceClient
from azure.data.tables._authentication import _configure_credential
from azure.storage.blob import BlobServiceClient, ExponentialRetry
from urllib3.exceptions import LocationParseError

from shared.errors import StorageBusy, StorageForbidden, StorageUnavailable, retry_after
from shared.http_errors import name_of
from shared.storage.table_format import ACCEPTED, ODATA_VERSION
from shared.storage.transport import StorageTransport

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_NO_ACCESS = frozenset({401, 403})
"""The tables' SDK raises a plain HttpResponseError for these."""
_THROTTLED = frozenset({429, 503})
"""What Azure Storage answers above its rates: 503 ServerBusy; its front ends also 429."""
_MEANINGS = {
    "AuthorizationPermissionMismatch": "the identity lacks a role: grant it Storage Blob Data Owner and Storage Table"
    " Data Contributor",
    "AuthorizationFailure": "the network rules of the account block this address",
    "": "grant it Storage Blob Data Owner and Storage Table Data Contributor, and check the network rules of the"
    " account",
}
"""By Azure Storage's codes (Common REST API error codes): the first is of roles, the second of networks."""
_CODE = re.compile(rb'<Code>(\w+)</Code>|"code"\s*:\s*"(\w+)"')


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the SDK's errors as those of `shared/errors.py`; errors that a mistake of ours causes pass through.

    The SDK's text is dropped (`from None`): it may hold the whole address of the call, with its signature.
    """
    try:
        yield
    except (ServiceRequestError, ServiceResponseError, LocationParseError) as error:  # the last: of no host name
        cause = getattr(error, "inner_exception", None) or error
        raise StorageUnavailable(f"Storage did not answer: {name_of(cause)}") from None
    except HttpResponseError as error:
        if isinstance(error, ClientAuthenticationError) and error.response is None:  # of azure-identity
            raise StorageForbidden("No token for storage: sign in (`az login`), or give an identity") from None
        if isinstance(error, ClientAuthenticationError) or error.status_code in _NO_ACCESS:
            raise _forbidden(str(error)) from None
        if error.status_code is None or error.status_code < 400:  # noqa: PLR2004 - HTTP's own number
            raise StorageUnavailable(f"Storage's answer can't be read: {type(error).__name__}") from None
        if error.status_code not in _TRANSIENT and "BeingDeleted" not in str(error):
            raise
        delay = getattr(error.response, "headers", {}).get("Retry-After", "")
        kind = StorageBusy if error.status_code in _THROTTLED else StorageUnavailable
        raise kind(f"Storage answered {error.status_code}", after=retry_after(delay) or 5.0) from None


def error_code(content: bytes) -> str:
    """The code in the body of an answer that refuses a request, of blobs (XML) or tables (JSON); empty without one."""
    code = _CODE.search(content)
    return (code[1] or code[2]).decode() if code else ""


def expect_conflict(answer: Any, *codes: str) -> None:
    """Raise StorageUnavailable for a 409 with another code, such as of a container that is being deleted."""
    if error_code(answer.read()) not in codes:
        raise StorageUnavailable("Storage answered 409: the blob or row can't be written now")


def _forbidden(text: str) -> StorageForbidden:
    """The error for a refusal, by the code in its text: the tables' SDK sets no `error_code`."""
    code = next((meaning for meaning in _MEANINGS if meaning and meaning in text), "")
    return StorageForbidden(f"Storage refused our identity or access: {_MEANINGS[code]}", code=code)


_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

Credential = AzureNamedKeyCredential | AzureSasCredential | TokenCredential | SansIOHTTPPolicy[Any, Any] | None
"""Of an SDK's client. That of blobs has its policy for a key, or none where the address holds a signature."""


class Service:
    """The blobs or the tables of an account, at an address. Every request has these `headers`."""

    def __init__(
        self,
        address: str,
        *,
        credential: Credential,
        retry_policy: HTTPPolicy[Any, Any],
        transport: StorageTransport,
        headers: Mapping[str, str],
    ) -> None:
        parts = urlsplit(address)
        self.address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        """Without the signature that may follow it."""
        self._signature = parts.query
        self._headers = {"User-Agent": "throughline", **headers}
        policies: list[Any] = [retry_policy, _TryHeaders(), _credential_policy(credential)]
        self._pipeline = Pipeline(transport, policies)

    def send(
        self,
        method: str,
        path: str,
        *,
        expected: Collection[int],
        query: str = "",
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = None,
    ) -> Any:
        """Send a request, and return its answer: status_code, headers, read(), text().

        Raises the errors of `shared/errors.py`, and azure-core's HttpResponseError for another answer with a status
        that is not expected.
        """
        queries = "&".join(part for part in (query, self._signature) if part)
        request = HttpRequest(
            method,
            f"{self.address}{path}?{queries}" if queries else f"{self.address}{path}",
            headers={**self._headers, **headers},
            content=body,
        )
        with translated_errors():
            answer = self._pipeline.run(request).http_response
            if answer.status_code not in expected:
                raise HttpResponseError(response=answer)
            return answer


def blob_service(client: BlobServiceClient, transport: StorageTransport, tries: int) -> Service:
    """The blobs of the account of this client, with its credential."""
    return Service(
        client.primary_endpoint,
        credential=client.credential,
        retry_policy=ExponentialRetry(retry_total=tries),
        transport=transport,
        headers={"x-ms-version": client.api_version},
    )


def table_service(client: TableServiceClient, transport: StorageTransport, tries: int) -> Service:
    """The tables of the account of this client, with its credential."""
    return Service(
        client.url,
        credential=client.credential,
        retry_policy=RetryPolicy(retry_total=tries),
        transport=transport,
        headers={"x-ms-version": client.api_version, "Accept": ACCEPTED, "DataServiceVersion": ODATA_VERSION},
    )


class _TryHeaders(SansIOHTTPPolicy[HttpRequest, Any]):
    """The headers of each try: its time, which is signed, and an id by which the service's log names it."""

    def on_request(self, request: PipelineRequest[HttpRequest]) -> None:
        headers = request.http_request.headers
        headers["x-ms-date"] = formatdate(usegmt=True)
        headers["x-ms-client-request-id"] = str(uuid.uuid4())


def _credential_policy(credential: Credential) -> SansIOHTTPPolicy[Any, Any] | HTTPPolicy[Any, Any] | None:
    """The SDK's policy that applies a credential: that of tables knows tokens and signatures of either service."""
    if credential is None or isinstance(credential, SansIOHTTPPolicy):
        return credential
    policy = _configure_credential(credential)  # no public name makes it; tests/shared/storage/test_sdk_names.py
    return cast("SansIOHTTPPolicy[Any, Any]", policy)
