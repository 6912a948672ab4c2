"""The names of azure-core and of the SDKs on which our requests to storage rely: public ones, and what is not."""

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken, AzureNamedKeyCredential, AzureSasCredential
from azure.core.pipeline.policies import AzureSasCredentialPolicy, BearerTokenCredentialPolicy, SansIOHTTPPolicy
from azure.core.pipeline.transport import HttpTransport
from azure.data.tables import TableServiceClient
from azure.data.tables._authentication import _configure_credential
from azure.storage.blob import BlobServiceClient

ROOM = Path(__file__).parents[3] / "shared" / "storage"
PUBLIC = {
    "azure.core.credentials": "AzureNamedKeyCredential AzureSasCredential TokenCredential",
    "azure.core.exceptions": "ClientAuthenticationError HttpResponseError ResourceExistsError ResourceNotFoundError "
    "ServiceRequestError ServiceResponseError",
    "azure.core.pipeline": "Pipeline PipelineRequest",
    "azure.core.pipeline.policies": "HTTPPolicy RetryPolicy SansIOHTTPPolicy",
    "azure.core.pipeline.transport": "HttpRequest HttpTransport RequestsTransport",
    "azure.core.rest": "HttpRequest",
    "azure.data.tables": "TableServiceClient",
    "azure.storage.blob": "BlobLeaseClient BlobServiceClient ExponentialRetry",
}
PRIVATE = {"azure.data.tables._authentication": "_configure_credential"}
"""It makes the policy that signs for tables, and the one that answers a challenge: no public name does."""


def test_the_names_are_the_listed_ones() -> None:
    """A new name is added here on purpose, after a look at whether it is public."""
    names_by_module: dict[str, set[str]] = {}
    for file in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("azure"):
                names_by_module.setdefault(str(node.module), set()).update(alias.name for alias in node.names)
            assert not (isinstance(node, ast.Import) and any(name.name.startswith("azure") for name in node.names))
    assert names_by_module == {module: set(names.split()) for module, names in (PUBLIC | PRIVATE).items()}


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_name_is_one_that_its_package_exports(module: str) -> None:
    exports = importlib.import_module(module)
    names = getattr(exports, "__all__", dir(exports))
    assert set(PUBLIC[module].split()) <= set(names)


class Token:
    """A credential with a token."""

    def get_token(self, *_: str, **__: Any) -> AccessToken:
        return AccessToken("token", 0)


@pytest.mark.parametrize(
    ("credential", "policy"),
    [
        (AzureNamedKeyCredential("a", "a2V5"), SansIOHTTPPolicy),
        (AzureSasCredential("sig=x"), AzureSasCredentialPolicy),
        (Token(), BearerTokenCredentialPolicy),
    ],
    ids=["key", "signature", "identity"],
)
def test_the_private_name_makes_a_policy_of_azure_core(credential: Any, policy: type[Any]) -> None:
    assert isinstance(_configure_credential(credential), policy)


@pytest.mark.parametrize("credential", ["key", "signature", "identity"])
def test_the_clients_name_their_address_version_and_credential(credential: str) -> None:
    """These attributes are public by their names; only the addresses and versions are documented."""
    if credential == "identity":
        token = Token()
        blobs = BlobServiceClient("https://a.blob.core.windows.net", credential=token)
        tables = TableServiceClient("https://a.table.core.windows.net", credential=token)
        assert blobs.credential is tables.credential is token
    else:
        access = "AccountKey=a2V5" if credential == "key" else "SharedAccessSignature=sig=x"
        connection = f"AccountName=a;{access}"
        blobs = BlobServiceClient.from_connection_string(connection)
        tables = TableServiceClient.from_connection_string(connection)
        if credential == "key":
            assert isinstance(blobs.credential, SansIOHTTPPolicy), "a policy already"
            assert isinstance(tables.credential, AzureNamedKeyCredential)
        else:
            assert blobs.credential is None, "the address has it"
            assert isinstance(tables.credential, AzureSasCredential)
    signature = "?sig=x" if credential == "signature" else ""
    assert blobs.primary_endpoint == f"https://a.blob.core.windows.net/{signature}"
    assert tables.url == "https://a.table.core.windows.net"
    assert blobs.api_version
    assert tables.api_version


def test_a_transport_is_asked_for_these_methods() -> None:
    assert HttpTransport.__abstractmethods__ == {"send", "open", "close", "__exit__"}
