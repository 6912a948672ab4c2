"""The namespace and name, as OpenLineage has them, of a data set that another tool names by an address or a path."""

import re
from pathlib import PurePath

_AZURE = re.compile(r"(?:https?|az)://([^./]+)\.(blob|dfs)\.(core\.[^/]+)/([^/]+)/?(.*)", re.IGNORECASE)
_AZURE_SCHEMES = {"blob": "wasbs", "dfs": "abfss"}
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)/*(.*)", re.DOTALL)
_SCHEME_ALONE = re.compile(r"(dbfs|file):(/.*)", re.DOTALL | re.IGNORECASE)
_PATTERN = re.compile(r"[*?{]")
_QUERY = re.compile(r"\?[\w.-]+=.*", re.DOTALL)


def dataset_at(location: str) -> tuple[str, str] | None:
    """Namespace and name of what is at a location: an address with a scheme, or an absolute path of this machine.
    Patterns at the end (`*.parquet`) and a query are cut off. None for any other text, and for an address without a
    name.
    """
    location = _QUERY.sub("", location)
    if match := _AZURE.fullmatch(location):
        account, kind, host, container, path = match.groups()
        location = f"{_AZURE_SCHEMES[kind.lower()]}://{container}@{account}.{kind.lower()}.{host}/{path}"
    if scheme_match := _SCHEME_ALONE.fullmatch(location):
        scheme, path = scheme_match.groups()
        return (scheme.lower(), folder) if (folder := _folder(f"/{path.lstrip('/')}")) else None
    if match := _ADDRESS.fullmatch(location):
        scheme, authority, path = match.groups()
        name = _folder(path) if scheme.lower() != "az" else ""  # without an account, nobody else knows it
        return (f"{scheme}://{authority}", name) if authority and name and not _PATTERN.search(authority) else None
    return ("file", folder) if PurePath(location).is_absolute() and (folder := _folder(location)) else None


def _folder(path: str) -> str:
    """The path up to the first part that is a pattern."""
    parts = path.split("/")
    end = next((number for number, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
    return "/".join(parts[:end]).rstrip("/")
