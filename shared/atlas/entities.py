"""A process -> its Atlas entities: plain values, final names, stable bytes; and reading `columnMapping`.

Types and limits are Purview's: `azure_synapse_operation` is a Process whose only own attribute is `columnMapping`, a
JSON string with one object for each pair of source and sink; a property holds 32 KB at most. Its format, with
qualified names:

    [{"DatasetMapping": {"Source": name, "Sink": name}, "ColumnMapping": [{"Source": column, "Sink": column}, …]}]
"""

import hashlib
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field, fields
from operator import attrgetter

import msgspec

from shared.atlas.columns import (
    LARGEST_ASSET,
    LONGEST_NAME,
    LONGEST_PROPERTY,
    name_within,
    references_within,
    text_within,
    weight,
)
from shared.model import DIRECT, NOTHING_DECLARED, OPAQUE, Asset, ColumnEdge, Declared, Process, QualityTest
from shared.naming.stores.families import table_shown
from shared.translation.process.union import ALL_ROWS

PROCESS_TYPE = "azure_synapse_operation"
PROCESS_ATTRIBUTES = ("name", "description", "columnMapping")
"""The attributes that are written of a process, beside its qualified name and its edges."""

ORIGIN_WORDS = ("platform", "workspace", "job", "link")
"""The fields of `shared.model.Origin` that are written."""

LAST_RUN = "\n\nLast run: "
"""Separates the description of a process from the facts of its last run."""

LAST_WRITE = "\n\nLast written: "
LAST_TESTS = "\n\nLast quality tests: "
"""Separate the description of a placeholder from its last write, and from the results of quality tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetEntity:
    """A data set as the catalog wants it; `columns` are pairs of name and type, none where they are not known.
    `properties`: a user's properties, as pairs of name and value; None leaves them alone.
    """

    type: str
    qualified_name: str
    attributes: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...] = ()
    properties: tuple[tuple[str, str], ...] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it in the catalog: its type and qualified name."""
        return self.type, self.qualified_name

    @property
    def is_placeholder(self) -> bool:
        """Whether its description has our mark."""
        return dict(self.attributes).get("description", "").startswith(PLACED)

    @property
    def weight(self) -> int:
        """The number of its entities: itself, its schema and its columns."""
        return weight(self.type, self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEntity:
    """A process as an entity; inputs and outputs are the (type, qualified name) of its assets.

    `origin`: where its job runs, as pairs of name and value. `facts` of its last run change with each run, so they are
    no part of the fingerprint; nor is the declared `owner`, which the description has too.
    """

    type: str
    qualified_name: str
    attributes: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    origin: tuple[tuple[str, str], ...] = ()
    facts: str = field(default="", compare=False)
    owner: str = field(default="", compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it in the catalog: its type and qualified name."""
        return self.type, self.qualified_name

    @property
    def fingerprint(self) -> str:
        """A digest of all that is written but the facts: equal lineage has equal fingerprints, whatever run it came
        from. A process without an origin has the one that it had before there were origins.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.compare}
        if not self.origin:
            del values["origin"]
        return hashlib.sha256(msgspec.json.encode(values)).hexdigest()

    @property
    def shown(self) -> dict[str, str]:
        """The attributes as they are written: with the facts at the end of the description."""
        attributes = dict(self.attributes)
        if self.facts:
            attributes["description"] = text_within(f"{attributes.get('description', '')}{LAST_RUN}{self.facts}")
        return attributes


_REQUIRED: dict[str, str] = {
    "fs_path": "path",
    "hdfs_path": "path",
    "azure_cosmosdb_sqlapi_collection": "resourceLink",
}
"""Attributes that a type demands beside its name: attribute by type, filled with the qualified name."""


_AT_A_HOST = frozenset({"hive_table", "hive_view"})

PLACED = "Placed here by Throughline: a Spark job used it and no scan had found it."
"""The description of every placeholder begins so."""


PROMISE_WORDS = ("promise", "contract")
"""The names of the properties that show a contract's promise."""
_LONGEST_WORD = 500
"""Characters that Atlas takes as the value of a user's property."""

_OWNERSHIP = ("Owner, as events declare: {}.", "Owner, as the contract says: {}.")


def owned_by(owner: str, *, promised: bool = False) -> str:
    """The sentence in a description that marks an owner as written by Throughline."""
    return _OWNERSHIP[promised].format(owner)


def owner_to_write(owner: str, held_owner: str, held_description: str) -> str | None:
    """The owner to send to a catalog that holds this owner and description; None to leave it alone: an owner that
    people set is never replaced.
    """
    is_own = bool(held_owner) and any(sentence.format(held_owner) in held_description for sentence in _OWNERSHIP)
    if held_owner and not is_own:
        return None
    return owner if owner or is_own else None


def _sentences(declared: Declared, *, promised: bool = False) -> tuple[str, ...]:
    """The declared description, owner and hierarchy, as sentences of a description."""
    if declared is NOTHING_DECLARED:
        return ()
    owner = owned_by(declared.owner, promised=promised) if declared.owner else ""
    levels = ", ".join(f"{type_} {name}" for type_, name in declared.levels)
    hierarchy = f"Hierarchy, as events declare: {levels}." if levels else ""
    return tuple(filter(None, (declared.description, owner, hierarchy)))


def asset_entity(
    asset: Asset,
    state: str = "",
    columns: tuple[tuple[str, str], ...] = (),
    declared: Declared = NOTHING_DECLARED,
    *,
    properties: tuple[str, ...] = (),
    promised_owner: bool = False,
    last_write: str = "",
    tests: tuple[QualityTest, ...] = (),
) -> AssetEntity:
    """The placeholder for an asset that no scan has found. `state`: a sentence on its lifecycle; `columns`: pairs of
    name and type that runs reported; `declared`: its owner and description from events. `properties`: the values of
    PROMISE_WORDS, where a contract promises the data set; `promised_owner`: the owner is the contract's. `last_write`:
    when it was, by which job, and how much; `tests`: the last results of its quality tests.
    """
    sentences = " ".join(filter(None, (PLACED, state, *_sentences(declared, promised=promised_owner))))
    attributes = {
        "name": _shown(asset),
        "description": text_within(sentences + (f"{LAST_WRITE}{last_write}" if last_write else "") + _results(tests)),
    }
    if declared.owner:
        attributes["owner"] = declared.owner
    if asset.type in _REQUIRED:
        attributes[_REQUIRED[asset.type]] = asset.qualified_name
    if asset.type == "kafka_topic":
        attributes["uri"], _, attributes["topic"] = asset.qualified_name.rpartition("/")
    return AssetEntity(
        type=asset.type,
        qualified_name=asset.qualified_name,
        attributes=tuple(attributes.items()),
        columns=columns,
        properties=tuple((word, value[:_LONGEST_WORD]) for word, value in zip(PROMISE_WORDS, properties, strict=False))
        or None,
    )


def lasting_text(text: str) -> str:
    """The description of a placeholder without its last write and the results of quality tests."""
    return text.partition(LAST_WRITE)[0].partition(LAST_TESTS)[0]


def _shown(asset: Asset) -> str:
    """The last part of the qualified name; of `database.table@host`, and of a folder called by an id, the table."""
    if table := table_shown(asset.qualified_name, asset.tables):
        return table.rpartition(".")[2]
    name = asset.qualified_name.rstrip("/").rsplit("/", 1)[-1]
    if asset.type in _AT_A_HOST:
        name = name.rpartition("@")[0].rpartition(".")[2]
    return name or asset.qualified_name


def _results(tests: tuple[QualityTest, ...]) -> str:
    """The last results of quality tests: how many passed, and which failed."""
    if not tests:
        return ""
    failed = [f"{test.name} of {test.column}" if test.column else test.name for test in tests if not test.passed]
    names = f" ({', '.join(failed)})" if failed else ""
    passed = len(tests) - len(failed)
    return f"{LAST_TESTS}{tests[-1].at:%Y-%m-%d %H:%M} UTC, {passed:,} passed, {len(failed):,} failed{names}."


_KEY, _ORIGIN = attrgetter("type", "qualified_name"), attrgetter(*ORIGIN_WORDS)
_IN_CODE = "rows pass code that Spark's plan does not show"


def process_entity(process: Process, *, with_indirect: bool = False, notes: tuple[str, ...] = ()) -> ProcessEntity:
    """The process with its column mapping. `with_indirect` adds the columns that only filter, join or sort; `notes`:
    further sentences for its description.
    """
    mapping, pair_count, total = column_mapping(process.columns, with_indirect=with_indirect)
    sentences = [f"Operations: {', '.join(process.operations)}.", *_sentences(process.origin.declared)]
    if process.generic_identity:
        sentences.append("Its job is known by a name only that many jobs share.")
    if process.end_not_seen:
        sentences.append("The end of its run was not seen.")
    if pair_count < total:
        sentences.append(f"Columns: {pair_count} of {total} pairs are shown, the catalog's property holds no more.")
    if bounds := [edge for edge in process.columns if OPAQUE in edge.how and edge.kind is DIRECT]:
        direct = sum(edge.kind is DIRECT for edge in process.columns)
        sentences.append(f"Columns: {len(bounds):,} of {direct:,} pairs are an upper bound: {_IN_CODE}.")
    outputs, inputs = sorted(map(_KEY, process.outputs)), sorted(map(_KEY, process.inputs))
    referenced = references_within([*outputs, *inputs], LARGEST_ASSET - 3 * LONGEST_PROPERTY)[len(outputs) :]
    if len(referenced) < len(inputs):
        sentences.append(
            f"Inputs: {len(referenced):,} of {len(inputs):,} are shown, the catalog's asset holds no more."
        )
    attributes = (name_within(process.name), text_within(" ".join((*sentences, *notes))), mapping)
    return ProcessEntity(
        type=PROCESS_TYPE,
        qualified_name=process.qualified_name,
        attributes=tuple(zip(PROCESS_ATTRIBUTES, attributes, strict=True)),
        inputs=tuple(referenced),
        outputs=tuple(outputs),
        origin=tuple([pair for pair in zip(ORIGIN_WORDS, _ORIGIN(process.origin), strict=True) if pair[1]]),
        owner=process.origin.declared.owner,
    )


def column_mapping(edges: tuple[ColumnEdge, ...], *, with_indirect: bool = False) -> tuple[str, int, int]:
    """Purview's `columnMapping` (a JSON string), how many column pairs it shows, and of how many.

    One object for each (source, sink), `Sink` repeated where several columns make one. Columns that are called by more
    than a name may hold (Spark calls an expression by its whole text) are left out; and when it is still too long for a
    property, pairs from the end, in their sorted order. The description of the process reports both.
    """
    if not edges:
        return "[]", 0, 0
    by_ends: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for edge in edges:
        if (with_indirect or edge.kind is DIRECT) and edge.output.column != ALL_ROWS:
            ends = (edge.input.qualified_name, edge.output.qualified_name)
            by_ends[ends].add((edge.output.column, edge.input.column))
    total = sum(map(len, by_ends.values()))
    pairs = [(ends, visible) for ends in sorted(by_ends) if (visible := sorted(filter(_is_shown, by_ends[ends])))]
    fitting = sum(len(columns) for _, columns in pairs)
    text = _mapping_json(pairs)
    if len(text) > LONGEST_PROPERTY:
        lengths = range(fitting + 1)
        fitting = (
            bisect_right(lengths, LONGEST_PROPERTY, key=lambda length: len(_mapping_json(_first(pairs, length)))) - 1
        )
        text = _mapping_json(_first(pairs, fitting))
    return text.decode(), fitting, total


def _is_shown(pair: tuple[str, str]) -> bool:
    return len(pair[0]) <= LONGEST_NAME and len(pair[1]) <= LONGEST_NAME


_Pairs = list[tuple[tuple[str, str], list[tuple[str, str]]]]
"""By source and sink, the output and input columns that belong together; all sorted."""


def _first(pairs: _Pairs, count: int) -> _Pairs:
    """So many pairs of columns, from the start."""
    first_pairs: _Pairs = []
    for ends, columns in pairs:
        if count > 0:
            first_pairs.append((ends, columns[:count]))
        count -= len(columns)
    return first_pairs


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


Column = tuple[str, str]
"""A data set's qualified name, and one of its columns."""


class _Ends(msgspec.Struct, frozen=True):
    source: str = msgspec.field(name="Source")
    sink: str = msgspec.field(name="Sink")


class _Mapping(msgspec.Struct, frozen=True):
    assets: _Ends = msgspec.field(name="DatasetMapping")
    columns: tuple[_Ends, ...] = msgspec.field(name="ColumnMapping")


_decode = msgspec.json.Decoder(tuple[_Mapping, ...]).decode


def column_pairs(mapping: object) -> tuple[tuple[Column, Column], ...]:
    """The pairs of an input and an output column. Empty for no text, and for what another program wrote otherwise."""
    if not isinstance(mapping, str) or not mapping:
        return ()
    try:
        mappings = _decode(mapping)
    except msgspec.DecodeError:
        return ()
    return tuple(
        ((dataset_mapping.assets.source, pair.source), (dataset_mapping.assets.sink, pair.sink))
        for dataset_mapping in mappings
        for pair in dataset_mapping.columns
    )
