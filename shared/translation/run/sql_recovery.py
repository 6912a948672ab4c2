"""Recover tables and columns that only the job's SQL names.

The listener omits the target of an UPDATE or DELETE on a path and of 4.1's REPLACE TABLE AS, and tables of scalar
subqueries. A statement is read only if it names a table that the run's events do not, or if these have no columns; its
results are marked as parsed. It is used only if it writes what the run writes, or is a query with exactly the columns
that the run writes: the facet often has another statement of the session, such as the one of a cached relation.

A name is resolved if it is a path, or the name of one of the run's own tables. Other names stay unresolved: another run
of the application may know them.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from shared.model import OPAQUE, Asset, Column, ColumnEdge, EdgeKind, UnresolvedTable
from shared.naming.names import canonical, is_noise
from shared.naming.stores.families import Identity
from shared.openlineage.run import MergedDataset, MergedRun
from shared.openlineage.selection import (
    UNKNOWN,
    Operation,
)
from shared.openlineage.wire import STREAMING
from shared.translation.run.datasets import Datasets, Place, table_name
from shared.translation.sql.model import Statement, TableRef
from shared.translation.sql.statement_reader import read_statement


class Recovered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The `target` that no event names, with its `asset`; further `inputs`; column pairs, where they are certain
    (source, its column, the output column, the kind, and whether only code may pass it on); and tables whose places are
    not known (`unresolved_tables`). `sink`: the only data set that they are of; None for any that the run writes.
    """

    sink: Identity | None = None
    target: MergedDataset | None = None
    asset: Asset | None = None
    inputs: tuple[Asset, ...] = ()
    columns: tuple[tuple[Asset, str, str, EdgeKind, bool], ...] = ()
    unresolved_tables: tuple[UnresolvedTable, ...] = ()

    def of(self, sink: Identity) -> "Recovered":
        """What was recovered of one data set."""
        return self if self.sink in (None, sink) else NOTHING

    def edges(self, target: Asset) -> tuple[ColumnEdge, ...]:
        """The column pairs as edges into `target`."""
        if not self.columns:
            return ()
        return tuple(
            sorted(
                parsed_edge(source, column, target, output, kind, opaque=opaque)
                for source, column, output, kind, opaque in self.columns
            )
        )


def parsed_edge(source: Asset, column: str, target: Asset, output: str, kind: EdgeKind, *, opaque: bool) -> ColumnEdge:
    """An edge from a SQL statement."""
    return ColumnEdge(
        input=Column(qualified_name=source.qualified_name, column=column),
        output=Column(qualified_name=target.qualified_name, column=output),
        kind=kind,
        how=(OPAQUE,) if opaque else (),
        parsed=True,
    )


NOTHING = Recovered()


def recover(run: MergedRun, datasets: Datasets, operation: Operation) -> Recovered:
    """The tables and columns that the run's SQL adds to its events; NOTHING for most runs."""
    if not run.statement or not (datasets.outputs or operation.moves_data):
        return NOTHING
    text = _in_sparks_quotes(run)
    if not _without_columns(run) and not _names_others(run, text):
        return NOTHING
    statement = read_statement(text)
    if statement is None:
        return NOTHING
    places = _Places.of(run, datasets.place)
    sink, target = None, None
    if datasets.outputs:
        if not _writes_what_the_run_writes(statement, run, places, datasets):
            return NOTHING
        if statement.target and len(datasets.outputs) > 1 and (sink_dataset := places.dataset(statement.target)):
            sink = canonical(*sink_dataset.key, datasets.place.environment)
    else:
        target = places.dataset(statement.target) if statement.target and statement.kind == operation.name else None
        if target is None or is_noise(canonical(*target.key, datasets.place.environment)):
            return NOTHING
    assets = {ref: source_asset for ref in statement.sources if (source_asset := _found(ref, places, datasets))}
    return Recovered(
        sink=sink,
        target=target,
        asset=datasets.place.asset(target) if target else None,
        inputs=tuple(sorted(set(assets.values()))),
        columns=tuple(
            (assets[pair.source], pair.column, pair.output, pair.kind, pair.opaque)
            for pair in statement.columns
            if pair.source in assets
        ),
        unresolved_tables=tuple(
            sorted(_unresolved(ref, statement) for ref in statement.sources if ref.parts and ref not in assets)
        ),
    )


def _writes_what_the_run_writes(statement: Statement, run: MergedRun, places: "_Places", datasets: Datasets) -> bool:
    if run.integration == _DBT:
        return len(datasets.outputs) == 1
    if statement.target:
        sink_dataset = places.dataset(statement.target)
        return sink_dataset is not None and canonical(*sink_dataset.key, datasets.place.environment) in datasets.outputs
    columns = {tuple(name.lower() for name in output.columns) for output in run.outputs}
    return bool(statement.outputs) and columns == {tuple(name.lower() for name in statement.outputs)}


_DBT = "DBT"
"""Its events have the query of the model itself, and name tables in full in one namespace."""


def _in_sparks_quotes(run: MergedRun) -> str:
    """The statement with names in backticks; only dbt sends other dialects."""
    return run.statement.replace('"', "`") if run.integration == _DBT else run.statement


def _unresolved(ref: TableRef, statement: Statement) -> UnresolvedTable:
    pairs = {(pair.column, pair.output, pair.kind): pair.opaque for pair in statement.columns if pair.source == ref}
    opaque = tuple(sorted(pair for pair, is_opaque in pairs.items() if is_opaque))
    return UnresolvedTable(table=table_name(".".join(ref.parts)), columns=tuple(sorted(pairs)), opaque=opaque)


def _without_columns(run: MergedRun) -> bool:
    """Whether an output that was written from inputs has no column lineage. dbt often knows no schema either."""
    without_schema = run.integration == _DBT
    return bool(run.inputs) and any((output.schema or without_schema) and not output.fields for output in run.outputs)


_IDENTIFIER = r"(?:`[^`]+`|[\w$]+)"
_MENTIONED = re.compile(
    r"\b(?:from|join|using|into|update|table|overwrite|directory)\s+(?:table\s+|directory\s+)?(?:if\s+(?:not\s+)?exists\s+)?"
    rf"({_IDENTIFIER}(?:\s*\.\s*{_IDENTIFIER})*)",
    re.IGNORECASE,
)
"""Where a statement may name a table. A false match only costs parsing the statement."""

_NO_TABLES = frozenset(
    {
        *("set", "select", "values", "table", "directory", "lateral", "unnest", "range", "explode"),
        *("delta", "parquet", "csv", "json", "orc", "iceberg", "text", "avro", "hudi", "jdbc", "kafka", "xml"),
    }
)
"""Words that may follow these keywords and are no tables: keywords, and formats after USING."""

_MAX_LENGTH = 200_000
"""Characters. Longer statements are not parsed either."""


def _names_others(run: MergedRun, text: str) -> bool:
    """Whether the statement seems to name a table that no event of the run names."""
    if len(text) > _MAX_LENGTH:
        return False
    mentioned = (_remembered_mentions if len(text) <= _SHORT else _mentions)(text)
    if not mentioned:
        return False
    names = {_last(dataset.name) for datasets in (run.inputs, run.outputs) for dataset in datasets}
    if mentioned <= names:
        return False
    names |= {_last(name) for dataset in (*run.inputs, *run.outputs) for _, name in dataset.symlinks}
    return not mentioned <= names


def _mentions(text: str) -> frozenset[str]:
    """The names, without databases, of tables that a statement may name."""
    return frozenset(_last(match[1].replace("`", "")) for match in _MENTIONED.finditer(text)) - _NO_TABLES


_SHORT = 4_000
"""Characters. Longer texts are not cached: senders must not decide how much memory is used."""

_remembered_mentions = lru_cache(maxsize=1024)(_mentions)


def _last(name: str) -> str:
    """The last part of a table's or folder's name, in lower case."""
    name = name.rstrip("/")
    return name[max(name.rfind("/"), name.rfind(".")) + 1 :].strip().lower()


def _found(ref: TableRef, places: "_Places", datasets: Datasets) -> Asset | None:
    dataset = places.dataset(ref)
    if dataset is None or is_noise(canonical(*dataset.key, datasets.place.environment)):
        return None
    return datasets.resolve(*dataset.key) or datasets.place.asset(dataset)


BEFORE_VERB = r"(?>\s+|--[^\n]*+|/\*(?>[\s\S]*?\*/))*+"
"""What may stand before a statement's first word: white space and comments, as dbt and other tools put there."""

_CHANGED = re.compile(
    rf"{BEFORE_VERB}(?P<verb>drop|truncate)\s+table\s+(?:if\s+exists\s+)?(?P<table>{_IDENTIFIER}(?:\s*\.\s*{_IDENTIFIER})*)",
    re.IGNORECASE,
)


def table_changed(statement: str) -> tuple[str, str]:
    """DROP or TRUNCATE and the table's name, for such a statement; empty for others.

    For Delta tables in the session catalog the listener reports both in the SQL only.
    """
    match = _CHANGED.match(statement)
    if not match:
        return "", ""
    return match["verb"].upper(), table_name(re.sub(r"\s*\.\s*", ".", match["table"]).replace("`", ""))


_DEFAULT = "default"
_LOCATION = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*|)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """The locations of the run's tables by name."""

    tables: dict[str, MergedDataset]
    paths: tuple[str, ...]
    """The namespaces of the run's data sets."""
    home: str = ""
    """dbt's namespace, in which a table's full name is its data set's; else empty."""

    @classmethod
    def of(cls, run: MergedRun, place: Place) -> "_Places":
        datasets = (*run.outputs, *run.inputs)
        tables = {table_name(name): dataset for dataset in reversed(datasets) for _, name in dataset.symlinks}
        namespaces = {canonical(*dataset.key, place.environment).namespace for dataset in datasets}
        home = run.outputs[0].namespace if run.integration == _DBT and run.outputs else ""
        return cls(tables=tables, paths=tuple(sorted(namespaces)), home=home)

    def dataset(self, ref: TableRef) -> MergedDataset | None:
        """The data set of a table reference; None if it is uncertain."""
        if ref.path:
            return self._at(ref.path)
        if self.home and len(ref.parts) > 1:
            return MergedDataset(namespace=self.home, name=".".join(ref.parts))
        name = table_name(".".join(ref.parts))
        return self.tables.get(name if "." in name else f"{_DEFAULT}.{name}")

    def _at(self, path: str) -> MergedDataset | None:
        match = _LOCATION.fullmatch(path)
        if match:
            authority = match["authority"]
            namespace = f"{match['scheme']}://{authority}" if authority else match["scheme"]
            return MergedDataset(namespace=namespace, name=match["path"])
        spaces = [space for space in self.paths if space in {"file", "dbfs"}] or ["file"]
        return MergedDataset(namespace=spaces[0], name=path) if path.startswith("/") else None


_VERB = re.compile(rf"{BEFORE_VERB}(merge|update|delete)\b", re.IGNORECASE)


def named_operation(run: MergedRun, operation: Operation) -> str:
    """The operation's name, where the job name's node does not decide it: a job without SQL writes whole data sets, and
    a stream batch only appends.
    """
    if operation.by_verb and (verb := _VERB.match(run.statement)):
        return verb[1].lower()
    if operation is UNKNOWN and (run.job_type == "RDD_JOB" or run.processing_type.upper() == STREAMING):
        return "insert"
    return operation.name
