"""The base model that Atlas starts with.

The archive has no model. The types that Atlas itself needs are defined here; the base types are the local catalog's, so
that both have the same ones.
"""

from collections.abc import Iterable
from typing import Any

from throughline.local.catalog.types import attribute_def, plain_typedefs

Json = dict[str, Any]

_OPERATIONS = (
    *("OTHERS", "PURGE", "EXPORT", "IMPORT", "IMPORT_DELETE_REPL", "TYPE_DEF_CREATE", "TYPE_DEF_UPDATE"),
    *("TYPE_DEF_DELETE", "SERVER_START", "SERVER_STATE_ACTIVE"),
)
"""The values of `AtlasAuditEntry.AuditOperation`."""

_INTERNAL = {
    "AtlasServer": "name! fullName displayName serverStatus additionalInfo:map<string,string> urls:array<string>",
    "__AtlasUserProfile": "name!* fullName savedSearches:array<__AtlasUserSavedSearch>",
    "__AtlasUserSavedSearch": "name! ownerName! uniqueName!* searchType! searchParameters! uiParameters",
    "__ExportImportAuditEntry": (
        "userName operation sourceServerName targetServerName operationParams operationStartTime:long "
        "operationEndTime:long resultSummary"
    ),
    "__AtlasAuditEntry": (
        "userName! operation:atlas_operation! params startTime:date! endTime:date! clientId result resultCount:long"
    ),
}
"""The types of Atlas' own records, with the attributes that its code reads and writes. Atlas needs them to start."""

_STAMPS = frozenset({"guid", "createdBy", "updatedBy", "createTime", "updateTime", "version", "category"})
_KINDS = {"ENTITY": "entityDefs", "RELATIONSHIP": "relationshipDefs"}


def base_model() -> Json:
    """Return the types that Atlas starts with, in the form of a model file."""
    base = grouped(plain_typedefs())
    internal = [
        {
            "name": name,
            "typeVersion": "1.0",
            "serviceType": "atlas_core",
            "superTypes": [] if name == "AtlasServer" else ["__internal"],
            "attributeDefs": [attribute_def(text) for text in attributes.split()],
        }
        for name, attributes in _INTERNAL.items()
    ]
    operations = {
        "name": "atlas_operation",
        "typeVersion": "1.0",
        "serviceType": "atlas_core",
        "elementDefs": [{"value": value, "ordinal": ordinal} for ordinal, value in enumerate(_OPERATIONS)],
    }
    return base | {"enumDefs": [operations], "entityDefs": [*internal, *base["entityDefs"]]}


def grouped(typedefs: Iterable[Json]) -> Json:
    """Return type definitions by kind, as Atlas reads them."""
    types_by_kind: dict[str, list[Json]] = {kind: [] for kind in _KINDS.values()}
    for typedef in typedefs:
        plain = {key: value for key, value in typedef.items() if key not in _STAMPS}
        types_by_kind[_KINDS[typedef["category"]]].append(plain)
    return dict(types_by_kind)
