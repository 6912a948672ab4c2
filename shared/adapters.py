"""Parts that the receiver and the workers are both made of: storage, telemetry, the credential.

Only what both need: whatever is imported here, the receiver's cold start pays for.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from shared.errors import Misconfigured
from shared.settings.table import STORAGE
from shared.settings.values import Network, StorageSettings, TelemetrySettings
from shared.storage.port import Storage
from shared.telemetry.port import Acts, Sink, Telemetry, show_marks_as_escapes, write_line


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRetryPolicy:
    """How often a call to storage is tried again, and the seconds to connect and to wait for an answer."""

    tries: int
    connect: float
    read: float


def storage_at(settings: StorageSettings, retry_policy: StorageRetryPolicy) -> Storage:
    """Azure's storage, or Azurite's. Nothing is called yet. Raises Misconfigured for a wrong connection string.

    The SDK is imported at the first call: that takes a third of `import throughline`, and few commands need storage.
    """
    from azure.data.tables import TableServiceClient  # noqa: PLC0415 - see above, as for the others
    from azure.storage.blob import BlobServiceClient  # noqa: PLC0415

    from shared.storage.azure import AzureStorage  # noqa: PLC0415

    transport = storage_transport(settings.network, retry_policy)
    tries = retry_policy.tries
    client_options: dict[str, Any] = {"retry_total": tries, "transport": transport}
    if settings.connection_string:
        try:
            return AzureStorage(
                BlobServiceClient.from_connection_string(settings.connection_string, **client_options),
                TableServiceClient.from_connection_string(settings.connection_string, **client_options),
                transport=transport,
                tries=tries,
            )
        except ValueError:
            raise Misconfigured(
                f"{STORAGE} is no whole connection string of a storage account: it needs AccountName and AccountKey, or"
                " BlobEndpoint, TableEndpoint and SharedAccessSignature, as NAME=VALUE separated by semicolons, each"
                " once"
            ) from None  # the SDK's error may quote it
    credential = credential_of(settings.client_id)
    return AzureStorage(
        BlobServiceClient(settings.blob_endpoint, credential=credential, **client_options),
        TableServiceClient(settings.table_endpoint, credential=credential, **client_options),
        transport=transport,
        tries=tries,
    )


def storage_transport(network: Network, retry_policy: StorageRetryPolicy) -> Any:
    """The transport of calls to storage, which clients may share."""
    from shared.storage.transport import StorageTransport  # noqa: PLC0415 - as the SDK

    return StorageTransport(
        connection_timeout=retry_policy.connect,
        read_timeout=retry_policy.read,
        proxies=network.proxies,
        authorities=network.authorities,
    )


def import_storage() -> None:
    """Import what `storage_at` imports, before its first call."""
    from shared.storage import transport  # noqa: F401, PLC0415 - early only where this is called


def credential_of(client_id: str) -> Any:
    """The credential of the managed identity with this id, else of the signed-in user."""
    from azure.identity import DefaultAzureCredential  # noqa: PLC0415 - slow to import, and not needed locally

    return DefaultAzureCredential(managed_identity_client_id=client_id or None)


def telemetry_to(settings: TelemetrySettings) -> Telemetry:
    """Lines always; spans and metrics where they are asked for. Raises Misconfigured."""
    show_marks_as_escapes()
    return Acts(write_line) if settings.destination == "off" else Acts(write_line, _listener(settings))


@cache
def _listener(settings: TelemetrySettings) -> Sink:
    """One for all functions of the process, which sends all that is left when that ends."""
    from shared.telemetry import otel  # noqa: PLC0415 - slow to import, and needed only for spans

    return otel.listener(settings.destination, settings.connection_string)
