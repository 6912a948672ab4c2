"""Azure's built-in roles that Throughline uses, by name and id.

Source: https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
"""

BLOB_OWNER = "Storage Blob Data Owner"
BLOB = "Storage Blob Data Contributor"
TABLE = "Storage Table Data Contributor"
QUEUE = "Storage Queue Data Contributor"
SENDER = "Storage Queue Data Message Sender"
TELEMETRY = "Monitoring Metrics Publisher"
READER = "Reader"
WEBSITES = "Website Contributor"
BLOB_READER = "Storage Blob Data Reader"
TABLE_READER = "Storage Table Data Reader"
QUEUE_READER = "Storage Queue Data Reader"

IDS = {
    BLOB_OWNER: "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    BLOB: "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    TABLE: "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3",
    QUEUE: "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
    SENDER: "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a",
    TELEMETRY: "3913510d-42f4-4e42-8a64-420c390055eb",
    READER: "acdd72a7-3385-48ef-bd42-f606fba81ae7",
    WEBSITES: "de139f84-1756-47ae-9be6-808fbbe84772",
    BLOB_READER: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
    TABLE_READER: "76199698-9eea-4c19-bc75-cec21354c6b6",
    QUEUE_READER: "19e7f393-937e-4f77-808e-94535e297925",
}
