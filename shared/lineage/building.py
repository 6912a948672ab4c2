"""Build the document of lineage from processes of the model and, where there is one, their history."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from shared.lineage.dataset_facts import PLACEHOLDER_TYPE, Amount, DatasetFacts, dataset_of, job_of, tag_name
from shared.lineage.document import (
    FOREIGN_NAMESPACE,
    FORMAT,
    NOT_SET,
    Column,
    Edge,
    Flow,
    Health,
    LineageDocument,
    Process,
    Tag,
    kind_of,
)
from shared.model import (
    ANY_EXCLUDED,
    DIRECT,
    EXCLUDED,
    NOTHING_DECLARED,
    Asset,
    ColumnEdge,
    Declared,
    QualityTest,
)
from shared.model import Process as ModelProcess

_NEVER = datetime(1, 1, 1, tzinfo=UTC)


class KnownProcess(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A process with what is known of its runs. `current`: whether the lineage of today has it; `stated` and `amounts`:
    what the events of its last run state, and how much that wrote; `tests`: of its data sets (by qualified name).

    Of a foreign process `catalog_type` is its type in the catalog, and `names` are the short names of data sets by
    qualified name; no event names these data sets.
    """

    process: ModelProcess
    first: datetime | None = None
    last: datetime | None = None
    last_run: str = ""
    health: Health = Health.GOOD
    statement: str = ""
    current: bool = True
    catalog_type: str = ""
    names: tuple[tuple[str, str], ...] = ()
    stated: tuple[tuple[str, str], ...] = ()
    amounts: tuple[Amount, ...] = ()
    tests: tuple[tuple[str, tuple[QualityTest, ...]], ...] = ()


class Interval(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A row of `lineage_history`: an edge and when it was valid. `kind` is DIRECT, INDIRECT or TABLE."""

    process: str
    input: str
    input_column: str
    output: str
    output_column: str
    kind: str
    masked: bool
    steps: tuple[str, ...]
    parsed: bool
    valid_from: datetime
    valid_to: datetime | None


TABLE = "TABLE"
"""The kind of an interval of two data sets."""


def intervals_of(process: ModelProcess, since: datetime) -> Iterator[Interval]:
    """The history of a process that is valid since then."""
    tables = (
        (source.qualified_name, "", sink.qualified_name, "") for source in process.inputs for sink in process.outputs
    )
    columns = (
        (column.input.qualified_name, column.input.column, column.output.qualified_name, column.output.column)
        for column in process.columns
    )
    for kind, links in ((TABLE, tables), (str(DIRECT), columns)):
        for source, source_column, sink, sink_column in links:
            yield Interval(
                process=process.qualified_name,
                input=source,
                input_column=source_column,
                output=sink,
                output_column=sink_column,
                kind=kind,
                masked=False,
                steps=(),
                parsed=False,
                valid_from=since,
                valid_to=None,
            )


def document_of(
    source: str,
    processes: Iterable[KnownProcess],
    *,
    expressions: bool = False,
    history: Iterable[Interval] | None = None,
    types: Mapping[str, str] | None = None,
    tags: Iterable[tuple[str, str, str]] = (),
) -> LineageDocument:
    """The document of these processes. `expressions`: with those of the lineage of today.

    `history`: every edge with its interval; without it the edges of the processes count, valid since ever. `types`: the
    types of data sets that only the history has. `tags`: qualified name, column and tag; those that events declare of
    columns come with the processes.
    """
    known_processes = sorted(processes, key=lambda known_process: known_process.process.qualified_name)
    collector = _Found(types or {})
    for process_known in sorted(
        known_processes, key=lambda process: bool(process.catalog_type)
    ):  # what events say comes first
        collector.add(process_known)
    intervals = None if history is None else list(history)
    for interval in intervals or ():
        collector.add_interval(interval)
    tagged = sorted({*tags, *collector.tagged})
    for name, column, _ in tagged:
        collector.column(name, column)
    return collector.document(source, known_processes, intervals, tagged, expressions=expressions)


class _Found:
    """Data sets, columns and times so far."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self._types = dict(types)
        self._event_names: dict[str, tuple[str, str]] = {}
        self._short_names: dict[str, str] = {}
        self._datasets: set[str] = set()
        self._schemas: dict[str, tuple[datetime, tuple[tuple[str, str], ...]]] = {}
        self._columns: dict[str, set[str]] = {}
        self._constants: set[tuple[str, str]] = set()
        self._times: set[datetime] = set()
        self._written: dict[str, Declared] = {}
        self._read: dict[str, Declared] = {}
        self.tagged: set[tuple[str, str, str]] = set()
        self._facts = DatasetFacts()

    def column(self, dataset: str, column: str) -> None:
        self._datasets.add(dataset)
        self._columns.setdefault(dataset, set()).add(column)

    def add(self, known_process: KnownProcess) -> None:
        """A process with its data sets, columns, constants and times."""
        process = known_process.process
        for asset in (*process.inputs, *process.outputs):
            self._datasets.add(asset.qualified_name)
            self._types.setdefault(asset.qualified_name, asset.type)
            self._name(asset, known_process)
        self._times |= {moment for moment in (known_process.first, known_process.last) if moment}
        if not known_process.current:
            return
        for edge in process.columns:
            self.column(edge.input.qualified_name, edge.input.column)
            self.column(edge.output.qualified_name, edge.output.column)
        for constant in process.sourceless:
            self.column(constant.qualified_name, constant.column)
            if process.exact:
                self._constants.add((constant.qualified_name, constant.column))
        outputs = {output.qualified_name for output in process.outputs}
        self._facts.note_writes(known_process.last, outputs, known_process.amounts)
        self._note_tests(known_process)
        for schema in process.schemas:
            declared = self._written if schema.qualified_name in outputs else self._read
            declared[schema.qualified_name] = declared.get(schema.qualified_name, NOTHING_DECLARED) | schema.declared
            for key, value, column in schema.declared.tags:
                if column:
                    self.column(schema.qualified_name, column)
                    self.tagged.add((schema.qualified_name, column, tag_name(key, value)))
            earlier_schema = self._schemas.get(schema.qualified_name)
            last = known_process.last or _NEVER
            if schema.columns and (
                earlier_schema is None or last >= earlier_schema[0]
            ):  # without columns it only declares something
                self._schemas[schema.qualified_name] = (last, schema.columns)

    def _name(self, asset: Asset, known_process: KnownProcess) -> None:
        """Note how events call a data set; where none does, how the catalog does."""
        event_name = (asset.namespace, asset.name)
        earlier = self._event_names.get(asset.qualified_name)
        if not known_process.catalog_type:
            self._event_names[asset.qualified_name] = min(event_name, earlier or event_name)
        elif earlier is None:
            self._event_names[asset.qualified_name] = event_name
            self._short_names[asset.qualified_name] = dict(known_process.names)[asset.qualified_name]

    def _note_tests(self, known_process: KnownProcess) -> None:
        for name, tests in known_process.tests:
            self._times.add(self._facts.note_tests(name, tests))
            for column in {test.column for test in tests if test.column}:
                self.column(name, column)

    def add_interval(self, interval: Interval) -> None:
        """An edge of the history."""
        if interval.kind == TABLE:
            self._datasets |= {interval.input, interval.output}
        else:
            self.column(interval.input, interval.input_column)
            self.column(interval.output, interval.output_column)
        self._times.add(interval.valid_from)
        if interval.valid_to:
            self._times.add(interval.valid_to)

    def declared(self, dataset: str) -> Declared:
        """What the writers of a data set declare of it, or else its readers; of the first process by name that does."""
        declared_writes, declared_reads = (
            declarations.get(dataset, NOTHING_DECLARED) for declarations in (self._written, self._read)
        )
        return declared_writes | declared_reads

    def _ordered_columns(self, dataset: str) -> dict[str, str]:
        """The columns of a data set with their types: all rows first, then by the newest schema, then by name."""
        if dataset == EXCLUDED.qualified_name:
            self.column(dataset, ANY_EXCLUDED.column)
        schema = dict(self._schemas.get(dataset, (_NEVER, ()))[1])
        further_columns = self._columns.get(dataset, set())
        rows = {"": ""} if "" in further_columns else {}
        return {
            **rows,
            **schema,
            **{column_name: "" for column_name in sorted(further_columns) if column_name not in schema and column_name},
        }

    def document(
        self,
        source: str,
        known_processes: list[KnownProcess],
        intervals: list[Interval] | None,
        tagged: list[tuple[str, str, str]],
        *,
        expressions: bool,
    ) -> LineageDocument:
        """All of it, numbered."""
        names = sorted(self._datasets)
        number = {name: place for place, name in enumerate(names)}
        columns: list[Column] = []
        column_number: dict[tuple[str, str], int] = {}
        for name in names:
            for column, kind in self._ordered_columns(name).items():
                column_number[name, column] = len(columns)
                columns.append(Column(number[name], column, kind, (name, column) in self._constants))
        times = sorted(self._times)
        time_number = {moment: place for place, moment in enumerate(times)}
        process_number = {
            known_process.process.qualified_name: place for place, known_process in enumerate(known_processes)
        }

        def when(moment: datetime | None) -> int:
            return NOT_SET if moment is None else time_number[moment]

        flows: list[Flow] = []
        edges: list[Edge] = []
        if intervals is None:
            for current_process in known_processes:
                place_of_process = process_number[current_process.process.qualified_name]
                flows += [
                    Flow(place_of_process, number[input_asset.qualified_name], number[written_output.qualified_name])
                    for input_asset in current_process.process.inputs
                    for written_output in current_process.process.outputs
                ]
                edges += [
                    _edge(place_of_process, edge, column_number, texts=expressions)
                    for edge in current_process.process.columns
                ]
        texts = _texts(known_processes) if expressions and intervals else {}
        for row in intervals or ():
            place_of_process = process_number[row.process]
            span = (when(row.valid_from), when(row.valid_to))
            if row.kind == TABLE:
                flows.append(Flow(place_of_process, number[row.input], number[row.output], *span))
            else:
                edges.append(
                    Edge(
                        place_of_process,
                        column_number[row.input, row.input_column],
                        column_number[row.output, row.output_column],
                        kind_of(row.kind, row.steps, masked=row.masked),
                        row.masked,
                        row.parsed,
                        *span,
                        row.steps,
                        "" if row.valid_to else texts.get(_ends(row), ""),
                    )
                )
        return LineageDocument(
            format=FORMAT,
            source=source,
            history=intervals is not None,
            times=tuple(times),
            datasets=tuple(
                self._facts.noted(
                    dataset_of(
                        name,
                        self._types.get(name, PLACEHOLDER_TYPE),
                        self.declared(name),
                        self._event_names.get(name, ("", "")),
                        self._short_names.get(name, ""),
                    ),
                    when,
                )
                for name in names
            ),
            columns=tuple(columns),
            processes=tuple(
                _process(known_process, number, when(known_process.first), when(known_process.last))
                for known_process in known_processes
            ),
            flows=tuple(sorted(flows)),
            edges=tuple(sorted(edges)),
            tags=tuple(sorted(Tag(column_number[name, column], tag) for name, column, tag in tagged)),
            failed_tests=tuple(sorted(self._facts.failed_tests(number))),
        )


_Ends = tuple[str, str, str, str, str, str]
"""An edge in the history: its process, both columns, and its kind."""


def _ends(row: Interval) -> _Ends:
    return row.process, row.input, row.input_column, row.output, row.output_column, row.kind


def _texts(known_processes: Iterable[KnownProcess]) -> dict[_Ends, str]:
    """The expressions of the edges of today."""
    texts: dict[_Ends, str] = {}
    for known_process in known_processes:
        for edge in known_process.process.columns if known_process.current else ():
            ends = (edge.input.qualified_name, edge.input.column, edge.output.qualified_name, edge.output.column)
            texts[known_process.process.qualified_name, *ends, edge.kind.value] = _joined(edge)
    return texts


def _joined(edge: ColumnEdge) -> str:
    return "; ".join(edge.expressions)


def _edge(process: int, edge: ColumnEdge, numbers: Mapping[tuple[str, str], int], *, texts: bool) -> Edge:
    return Edge(
        process,
        numbers[edge.input.qualified_name, edge.input.column],
        numbers[edge.output.qualified_name, edge.output.column],
        kind_of(edge.kind, edge.how, masked=edge.masked),
        edge.masked,
        edge.parsed,
        NOT_SET,
        NOT_SET,
        edge.how,
        _joined(edge) if texts else "",
    )


def _process(known_process: KnownProcess, numbers: Mapping[str, int], first: int, last: int) -> Process:
    process = known_process.process
    namespace, identity = job_of(process.qualified_name)
    if known_process.catalog_type:
        namespace, identity = FOREIGN_NAMESPACE, process.qualified_name
    return Process(
        qualified_name=process.qualified_name,
        name=process.name,
        namespace=namespace,
        identity=identity,
        operations=process.operations,
        platform=process.origin.platform,
        workspace=process.origin.workspace,
        job=process.origin.job,
        link=process.origin.link,
        inputs=tuple(sorted(numbers[asset.qualified_name] for asset in process.inputs)),
        outputs=tuple(sorted(numbers[output.qualified_name] for output in process.outputs)),
        parsed_inputs=tuple(sorted(numbers[parsed_name] for parsed_name in process.parsed if parsed_name in numbers)),
        unresolved_tables=tuple(sorted({unresolved_table.table for unresolved_table in process.unresolved_tables})),
        generic_identity=process.generic_identity,
        exact=process.exact,
        health=Health.UNENDED if process.end_not_seen and known_process.health is Health.GOOD else known_process.health,
        last_run=known_process.last_run,
        first_seen=first,
        last_seen=last,
        statement=known_process.statement,
        owner=process.origin.declared.owner,
        description=process.origin.declared.description,
        catalog_type=known_process.catalog_type,
        stated=known_process.stated,
    )
