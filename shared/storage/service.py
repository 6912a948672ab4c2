"""Requests to one service of a storage account, through azure-core's pipeline.

Credentials are applied, and calls are retried, by the policies of azure-core and of the SDKs. What the SDKs do beside
that for a call (models, parsers, thread pools) takes most of their time, and is not done here.
"""

import uuid
from collections.abc import Collection, Mapping
from email.utils import formatdate
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential, TokenCredential
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline import Pipeline, PipelineRequest
from azure.core.pipeline.policies import HTTPPolicy, RetryPolicy, SansIOHTTPPolicy
from azure.core.rest import HttpRequest
from azure.data.tables import TableServiceClient
from azure.data.tables._authentication import _configure_credential
from azure.storage.blob import BlobServiceClient, ExponentialRetry

from shared.storage.azure_errors import translated_errors
from shared.storage.table_format import ACCEPTED, ODATA_VERSION
from shared.storage.transport import StorageTransport

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
