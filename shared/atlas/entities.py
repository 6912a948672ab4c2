"""A process -> the Atlas entities that say it: plain values, final names, stable bytes.

Types and limits are Purview's: `azure_synapse_operation` is a Process whose only own attribute is `columnMapping`, a
JSON string with one object for each pair of source and sink; a property holds 32 KB at most.
"""

import hashlib
from dataclasses import dataclass, field, fields

import msgspec

from shared.atlas.columns import weight
from shared.model import Asset, ColumnEdge, EdgeKind, Process
from shared.translation import ALL_ROWS

PROCESS_TYPE = "azure_synapse_operation"
PROCESS_ATTRIBUTES = ("name", "description", "columnMapping")
"""What is written of a process beside its name and its edges."""

LAST_RUN = "\n\nLast run: "
"""Between what a description says of the process and the facts of its last run."""

LONGEST_PROPERTY = 32 * 1024
"""Bytes of one property in Purview."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetEntity:
    """A data set as the catalog wants it; `columns` are pairs of name and type, none where they are not known."""

    type: str
    qualified_name: str
    attributes: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...] = ()

    @property
    def weight(self) -> int:
        """Of how many entities it consists."""
        return weight(self.type, self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEntity:
    """A process as the catalog wants it; inputs and outputs are the (type, qualified name) of its assets.

    `facts` are what people want to see of its last run: they change with each, and so are no part of what it is.
    """

    type: str
    qualified_name: str
    attributes: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    facts: str = field(default="", compare=False)

    @property
    def fingerprint(self) -> str:
        """A digest of all that is written but the facts: equal lineage has equal fingerprints, whatever run it came
        from.
        """
        told = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
        return hashlib.sha256(msgspec.json.encode(told)).hexdigest()

    @property
    def shown(self) -> dict[str, str]:
        """The attributes as they are written: with the facts at the end of the description."""
        attributes = dict(self.attributes)
        if self.facts:
            attributes["description"] = f"{attributes.get('description', '')}{LAST_RUN}{self.facts}"
        return attributes


_REQUIRED: dict[str, str] = {
    "fs_path": "path",
    "hdfs_path": "path",
    "azure_cosmosdb_sqlapi_collection": "resourceLink",
}
"""Attributes that a type demands beside its name: attribute by type, filled with the qualified name."""


_AT_A_HOST = frozenset({"hive_table", "hive_view"})

PLACED = "Placed here by Throughline: a Spark job used it and no scan had found it."
"""How the description of every placeholder begins."""


def asset_entity(asset: Asset, state: str = "", columns: tuple[tuple[str, str], ...] = ()) -> AssetEntity:
    """An asset that no scan has found, as we create it: a placeholder, and marked as one. `state` is a sentence on what
    became of it, `columns` are those that runs saw.
    """
    attributes = {
        "name": _shown(asset),
        "description": f"{PLACED} {state}".rstrip(),
    }
    if asset.type in _REQUIRED:
        attributes[_REQUIRED[asset.type]] = asset.qualified_name
    if asset.type == "kafka_topic":
        attributes["uri"], _, attributes["topic"] = asset.qualified_name.rpartition("/")
    return AssetEntity(
        type=asset.type, qualified_name=asset.qualified_name, attributes=tuple(attributes.items()), columns=columns
    )


def _shown(asset: Asset) -> str:
    """The last part of the qualified name; of `database.table@host` the table."""
    name = asset.qualified_name.rstrip("/").rsplit("/", 1)[-1]
    if asset.type in _AT_A_HOST:
        name = name.rpartition("@")[0].rpartition(".")[2]
    return name or asset.qualified_name


def process_entity(process: Process, *, with_indirect: bool = False, notes: tuple[str, ...] = ()) -> ProcessEntity:
    """The process with its column mapping. `with_indirect` adds the columns that only decide what is written; `notes`
    are further sentences for its description.
    """
    mapping, shown, total = column_mapping(process.columns, with_indirect=with_indirect)
    said = [f"Operations: {', '.join(process.operations)}."]
    if process.weak:
        said.append("Its job is known by a name only that many jobs share.")
    if process.end_not_seen:
        said.append("The end of its run was not seen.")
    if shown < total:
        said.append(f"Columns: {shown} of {total} pairs are shown, the catalog's property holds no more.")
    return ProcessEntity(
        type=PROCESS_TYPE,
        qualified_name=process.qualified_name,
        attributes=tuple(zip(PROCESS_ATTRIBUTES, (process.name, " ".join((*said, *notes)), mapping), strict=True)),
        inputs=tuple(sorted((asset.type, asset.qualified_name) for asset in process.inputs)),
        outputs=tuple(sorted((asset.type, asset.qualified_name) for asset in process.outputs)),
    )


def column_mapping(edges: tuple[ColumnEdge, ...], *, with_indirect: bool = False) -> tuple[str, int, int]:
    """Purview's `columnMapping` (a JSON string), how many column pairs it shows, and of how many.

    One object for each (source, sink), `Sink` repeated where several columns make one. When it is too long for a
    property, pairs are left out from the end, in their sorted order; the caller says so on the process.
    """
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for edge in edges:
        if (with_indirect or edge.kind is EdgeKind.DIRECT) and edge.output.column != ALL_ROWS:
            ends = (edge.input.qualified_name, edge.output.qualified_name)
            found.setdefault(ends, set()).add((edge.output.column, edge.input.column))
    pairs = [(ends, sorted(found[ends])) for ends in sorted(found)]
    total = sum(len(columns) for _, columns in pairs)
    text, fitting = _mapping_json(pairs), total
    if len(text) > LONGEST_PROPERTY:
        low = 0
        while low < fitting:
            middle = (low + fitting + 1) // 2
            if len(_mapping_json(_first(pairs, middle))) <= LONGEST_PROPERTY:
                low = middle
            else:
                fitting = middle - 1
        text = _mapping_json(_first(pairs, fitting))
    return text.decode(), fitting, total


_Pairs = list[tuple[tuple[str, str], list[tuple[str, str]]]]
"""By source and sink, the output and input columns that belong together; all sorted."""


def _first(pairs: _Pairs, count: int) -> _Pairs:
    """So many pairs of columns, from the start."""
    kept: _Pairs = []
    for ends, columns in pairs:
        if count > 0:
            kept.append((ends, columns[:count]))
        count -= len(columns)
    return kept


def _mapping_json(pairs: _Pairs) -> bytes:
    return msgspec.json.encode(
        [
            {
                "DatasetMapping": {"Source": source, "Sink": sink},
                "ColumnMapping": [{"Source": column, "Sink": output} for output, column in columns],
            }
            for (source, sink), columns in pairs
        ]
    )
