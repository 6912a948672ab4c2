"""Helpers for tests on Azurite."""

from shared.bootstrap import assemble
from shared.settings.reading import load
from shared.storage.port import Storage


def on_azurite(connection: str) -> Storage:
    places = {"AzureWebJobsStorage": connection, "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9"}
    return assemble(load(catalog=True, environment=places)).storage
