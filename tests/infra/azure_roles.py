"""Azure's built-in roles that Throughline uses, by name and id.

Source: https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
"""

BLOB_OWNER = "Storage Blob Data Owner"
BLOB = "Storage Blob Data Contributor"
TABLE = "Storage Table Data Contributor"
QUEUE = "Storage Queue Data Contributor"
ACCOUNT = "Storage Account Contributor"
TELEMETRY = "Monitoring Metrics Publisher"

IDS = {
    BLOB_OWNER: "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    BLOB: "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    TABLE: "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3",
    QUEUE: "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
    ACCOUNT: "17d1049b-9a84-46fb-8f53-869881c3d3ab",
    TELEMETRY: "3913510d-42f4-4e42-8a64-420c390055eb",
}
