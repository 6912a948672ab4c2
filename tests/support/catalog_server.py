"""Helpers for tests of the catalog server."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import requests

from throughline.local.catalog.server import CatalogServer

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]

TABLE = "azure_sql_table"


def post(server: CatalogServer, *entities: Json, path: str = "entity/bulk") -> requests.Response:
    headers = {"Authorization": f"Bearer {server.token}"}
    body = {"entities": list(entities)}
    return requests.post(f"{server.endpoint}/{path}", json=body, headers=headers, timeout=60)


def get(server: CatalogServer, path: str, **query: str) -> requests.Response:
    headers = {"Authorization": f"Bearer {server.token}"}
    return requests.get(f"{server.endpoint}/{path}", params=query, headers=headers, timeout=60)


def search(server: CatalogServer, **parameters: Any) -> Json:
    headers = {"Authorization": f"Bearer {server.token}"}
    answer = requests.post(f"{server.endpoint}/search/basic", json=parameters, headers=headers, timeout=60)
    found: Json = answer.json()
    return found


def table(name: str, guid: int = -1, **attributes: Any) -> Json:
    return {"typeName": TABLE, "guid": guid, "attributes": {"qualifiedName": name, "name": name, **attributes}}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "throughline.local.catalog", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
