"""Rows of Log Analytics as they are billed: our own text, and an example of the other columns.

Columns: https://learn.microsoft.com/azure/azure-monitor/reference/tables/apptraces and its neighbours. What is billed:
https://learn.microsoft.com/azure/azure-monitor/logs/cost-logs#data-size-calculation.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

_ID = "0" * 32
_REASON = "This function was programmatically called via the host APIs."
_GUID = "00000000-0000-0000-0000-000000000000"
_EVERY_ROW: dict[str, str] = {
    "AppRoleInstance": _ID + _ID,
    "AppRoleName": "func-lineage-receiver-abcdefghijklm",
    "ClientIP": "0.0.0.0",  # noqa: S104 -- what Application Insights stores in place of an address
    "ClientType": "PC",
    "IKey": _GUID,
    "ItemCount": "1",
    "OperationId": _ID,
    "OperationName": "receiver_function",
    "ParentId": "0" * 16,
    "ResourceGUID": _GUID,
    "SDKVersion": "azurefunctions: 4.1037.0.00000",
    "SourceSystem": "Azure",
    "TenantId": _GUID,
    "TimeGenerated": "2026-11-23T00:00:00.0000000Z",
}
_TRACE = _EVERY_ROW | {
    "SeverityLevel": "1",
    "Properties": json.dumps(
        {
            "Category": "Function.receiver_function.User",
            "HostInstanceId": _GUID,
            "InvocationId": _GUID,
            "LogLevel": "Information",
            "ProcessId": "1000",
        }
    ),
}
_REQUEST = _EVERY_ROW | {
    "DurationMs": "10.0000",
    "Id": "0" * 16,
    "Name": "receiver_function",
    "PerformanceBucket": "<250ms",
    "ResultCode": "201",
    "Success": "True",
    "Url": "https://func-lineage-receiver-abcdefghijklm.azurewebsites.net/api/v1/lineage",
    "Properties": json.dumps(
        {
            "Category": "Host.Results",
            "FullName": "Functions.receiver_function",
            "FunctionExecutionTimeMs": "10.0000",
            "HostInstanceId": _GUID,
            "HttpMethod": "POST",
            "HttpPath": "/api/v1/lineage",
            "InvocationId": _GUID,
            "LogLevel": "Information",
            "ProcessId": "1000",
            "TriggerReason": _REASON,
        }
    ),
}
_DELETION = {
    "AccountName": "stabcdefghijklm",
    "AuthenticationType": "OAuth",
    "AuthorizationDetails": json.dumps(
        [
            {
                "action": "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/delete",
                "denyAssignmentId": "",
                "granted": "True",
                "principals": [{"id": _GUID, "type": "ServicePrincipal"}],
                "roleAssignmentId": _GUID,
                "roleDefinitionId": _GUID,
                "type": "RBAC",
            }
        ]
    ),
    "CallerIpAddress": "10.0.0.1:50000",
    "Category": "StorageDelete",
    "CorrelationId": _GUID,
    "DurationMs": "10.0",
    "ObjectKey": f"/stabcdefghijklm/events/{_GUID}/20261123T000000000000Z-COMPLETE-{_ID}.json.gz",
    "OperationCount": "0",
    "OperationName": "DeleteBlob",
    "OperationVersion": "2026-02-06",
    "Protocol": "HTTPS",
    "RequestHeaderSize": "500",
    "RequesterAppId": _GUID,
    "RequesterAudience": "https://storage.azure.com",
    "RequesterObjectId": _GUID,
    "RequesterTenantId": _GUID,
    "RequesterTokenIssuer": f"https://sts.windows.net/{_GUID}/",
    "ResponseHeaderSize": "200",
    "ServerLatencyMs": "10.0",
    "ServiceType": "blob",
    "StatusCode": "202",
    "StatusText": "Success",
    "TimeGenerated": "2026-11-23T00:00:00.0000000Z",
    "TlsVersion": "TLS 1.3",
    "Uri": f"https://stabcdefghijklm.blob.core.windows.net/events/{_GUID}/20261123T000000000000Z-COMPLETE-{_ID}.json.gz",
    "UserAgentHeader": "azsdk-python-storage-blob/12.31.1 Python/3.11.9 (Linux)",
}
EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "AppTraces": _TRACE,
    "AppRequests": _REQUEST,
    "StorageBlobLogs": _DELETION,
}
"""An example of a row of each table without the line's own text."""

HOST_LINES = (
    f"Executing 'Functions.receiver_function' (Reason='{_REASON}', Id={_GUID})",
    f"Executed 'Functions.receiver_function' (Succeeded, Id={_GUID}, Duration=10ms)",
)
"""The host's own lines for each call, which our host.json filters out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A number of rows and their billed bytes."""

    rows: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: "Volume") -> "Volume":
        return Volume(rows=self.rows + other.rows, bytes=self.bytes + other.bytes)

    def times(self, factor: float) -> "Volume":
        """Return `factor` times the volume."""
        return Volume(rows=self.rows * factor, bytes=self.bytes * factor)


def row_of(table: str, message: str = "") -> Volume:
    """A row of a table: the UTF-8 bytes of its columns' texts."""
    size = sum(len(value.encode()) for value in EXAMPLES[table].values())
    return Volume(rows=1, bytes=size + len(message.encode()))
