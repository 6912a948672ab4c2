"""How full a storage account is: Azurite slows down as it fills, so every figure names its content."""

from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient


def fullness(connection: str) -> dict[str, int]:
    """Count the blobs and rows in all containers and tables."""
    with BlobServiceClient.from_connection_string(connection) as blobs:
        containers = [container.name for container in blobs.list_containers()]
        blob_count = sum(1 for name in containers for _ in blobs.get_container_client(name).list_blob_names())
    with TableServiceClient.from_connection_string(connection) as tables:
        names = [table.name for table in tables.list_tables()]
        rows = sum(1 for name in names for _ in tables.get_table_client(name).list_entities(select=["PartitionKey"]))
    return {"blobs": blob_count, "rows": rows}
