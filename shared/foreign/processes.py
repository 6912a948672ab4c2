"""Foreign lineage as processes of the lineage document."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from shared.catalog.port import ForeignAsset, ForeignProcess
from shared.lineage.building import KnownProcess
from shared.lineage.document import FOREIGN_NAMESPACE
from shared.model import DIRECT, FROM_CATALOG, Asset, Column, ColumnEdge, Origin, Process

_PROGRAMS: Mapping[str, str] = {
    "powerbi_": "Power BI",
    "adf_": "Data Factory",
    "azure_synapse_": "Synapse",
    "databricks_": "Databricks",
    "fabric_": "Fabric",
    "mssql_": "SQL Server",
    "azure_sql_": "Azure SQL",
    "snowflake_": "Snowflake",
    "tableau_": "Tableau",
    "ssis_": "SSIS",
}
"""The programs that write processes of these types, by how the names of the types begin."""


def program_of(process_type: str) -> str:
    """The program that writes processes of a type; the type itself where it is none of those known."""
    return next((name for start, name in _PROGRAMS.items() if process_type.startswith(start)), process_type)


def known_processes(foreign: Iterable[ForeignProcess], recorded: Collection[KnownProcess]) -> Iterator[KnownProcess]:
    """Foreign processes for the document beside those that are `recorded`. A process without an input or an output, or
    with nothing but itself, is left out, and of several with one qualified name all but the first.
    """
    names = _Names.of(recorded)
    processes: set[str] = set()
    for process in foreign:
        flows = {(source.qualified_name, sink.qualified_name) for source in process.inputs for sink in process.outputs}
        if process.qualified_name not in processes and any(source != sink for source, sink in flows):
            processes.add(process.qualified_name)
            yield _known(process, names)


class _Names:
    """The columns that are known of data sets, by their names in lower case: programs differ in capitals."""

    def __init__(self, columns: dict[str, dict[str, str]]) -> None:
        self._columns = columns

    @classmethod
    def of(cls, processes: Iterable[KnownProcess]) -> "_Names":
        """Those of the schemas and edges of processes."""
        columns: dict[str, dict[str, str]] = {}
        for process in (recorded.process for recorded in processes):
            for schema in process.schemas:
                columns.setdefault(schema.qualified_name, {}).update({name.lower(): name for name, _ in schema.columns})
            for end in (end for edge in process.columns for end in (edge.input, edge.output) if end.column):
                columns.setdefault(end.qualified_name, {}).setdefault(end.column.lower(), end.column)
        return cls(columns)

    def column(self, end: tuple[str, str]) -> Column:
        name = self._columns.get(end[0], {}).get(end[1].lower(), end[1])
        return Column(qualified_name=end[0], column=name)


def _known(process: ForeignProcess, names: _Names) -> KnownProcess:
    inputs = {end.qualified_name for end in process.inputs}
    outputs = {end.qualified_name for end in process.outputs}
    edges = {
        ColumnEdge(input=names.column(source), output=names.column(sink), kind=DIRECT, how=(FROM_CATALOG,))
        for source, sink in process.columns
        if source[0] in inputs and sink[0] in outputs and source[1] and sink[1] and source != sink
    }
    return KnownProcess(
        process=Process(
            qualified_name=process.qualified_name,
            name=process.name,
            operations=(),
            inputs=tuple(map(_asset, process.inputs)),
            outputs=tuple(map(_asset, process.outputs)),
            columns=tuple(sorted(edges)),
            origin=Origin(platform=program_of(process.type)),
        ),
        catalog_type=process.type,
        names=tuple(sorted({(end.qualified_name, end.name) for end in (*process.inputs, *process.outputs)})),
    )


def _asset(end: ForeignAsset) -> Asset:
    return Asset(type=end.type, qualified_name=end.qualified_name, namespace=FOREIGN_NAMESPACE, name=end.qualified_name)
