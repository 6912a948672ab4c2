"""Helpers for tests on Azurite."""

import base64
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from azure.core.credentials import AccessToken
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient, ResourceTypes, generate_account_sas

from shared.bootstrap import assemble
from shared.settings.reading import load
from shared.storage.azure import AzureStorage
from shared.storage.port import Storage
from shared.storage.transport import StorageTransport
from throughline.local.azurite import ACCOUNT, KEY, Azurite


def on_azurite(connection: str) -> Storage:
    places = {"AzureWebJobsStorage": connection, "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9"}
    return assemble(load(catalog=True, environment=places)).storage


def with_signature(azurite: Azurite) -> str:
    """A connection string with a shared access signature in place of the key."""
    signature = generate_account_sas(
        ACCOUNT,
        KEY,
        resource_types=ResourceTypes(service=True, container=True, object=True),
        permission="rwdlacu",
        expiry=datetime.now(UTC) + timedelta(hours=1),
        services="bt",
        protocol="http",
    )
    endpoints = ";".join(f"{name.title()}Endpoint={azurite.endpoint(name)}" for name in ("blob", "table"))
    return f"{endpoints};SharedAccessSignature={signature}"


def with_identity(azurite: Azurite, certificate: Path) -> Storage:
    """Storage on an Azurite that takes tokens, whose certificate is this file."""
    transport = StorageTransport(connection_timeout=5, read_timeout=30, proxies={}, authorities=str(certificate))
    credential = Token()
    return AzureStorage(
        BlobServiceClient(azurite.endpoint("blob"), credential=credential, transport=transport),
        TableServiceClient(azurite.endpoint("table"), credential=credential, transport=transport),
        transport=transport,
        tries=4,
    )


class Token:
    """A credential whose tokens nobody signed: Azurite reads issuer, audience and times only."""

    def get_token(self, *scopes: str, **_: object) -> AccessToken:
        now = int(time.time())
        claims = {
            "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
            "aud": scopes[0].removesuffix("/.default"),
            "iat": now - 60,
            "nbf": now - 60,
            "exp": now + 3600,
        }
        parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in ({"alg": "none"}, claims))
        return AccessToken(".".join((*parts, "unsigned")), now + 3600)
