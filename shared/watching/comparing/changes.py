"""A change of lineage as a value (topic, severity, subject, the columns where its effects begin), and its sentence; and
a document of lineage by names, because two documents number their data sets and columns differently.

Two states are aligned: a placeholder of the first gets the name of the scanned asset that replaced it.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property

import msgspec
from msgspec import structs

from shared.lineage.document import Dataset, Edge, LineageDocument, Process
from shared.lineage.graph import LineageGraph, reach

DatasetKey = tuple[str, str]
"""Type and qualified name."""
ColumnKey = tuple[str, str, str]
"""Type and qualified name of the data set, and the column; an empty column stands for all rows."""


class Downstream(msgspec.Struct, frozen=True, kw_only=True):
    """The columns downstream, nearest first, and the qualified names of the processes on the paths to them."""

    columns: tuple[ColumnKey, ...] = ()
    processes: tuple[str, ...] = ()


class Fed(msgspec.Struct, frozen=True, kw_only=True):
    """The data sets downstream of one, nearest first, and the qualified names of the processes between them."""

    datasets: tuple[DatasetKey, ...] = ()
    processes: tuple[str, ...] = ()


class View:
    """Answers questions about one document, with names."""

    def __init__(self, document: LineageDocument) -> None:
        self.document = document
        self._keys: tuple[DatasetKey, ...] = tuple(
            (dataset.type, dataset.qualified_name) for dataset in document.datasets
        )

    def key(self, column: int) -> ColumnKey:
        """The name of a column."""
        fact = self.document.columns[column]
        return *self._keys[fact.dataset], fact.name

    @cached_property
    def datasets(self) -> dict[DatasetKey, Dataset]:
        """The data sets by their keys."""
        return dict(zip(self._keys, self.document.datasets, strict=True))

    @cached_property
    def processes(self) -> dict[str, Process]:
        """The processes by their qualified names."""
        return {process.qualified_name: process for process in self.document.processes}

    @cached_property
    def schemas(self) -> dict[DatasetKey, dict[str, str]]:
        """By data set with a known schema: the types of its columns. A column that only an edge names has no type."""
        schemas: dict[DatasetKey, dict[str, str]] = {}
        for column in self.document.columns:
            if column.name and column.type:
                schemas.setdefault(self._keys[column.dataset], {})[column.name] = column.type
        return schemas

    @cached_property
    def columns(self) -> dict[ColumnKey, int]:
        """The numbers of columns by their names."""
        return {self.key(number): number for number in range(len(self.document.columns))}

    @cached_property
    def failed_tests(self) -> frozenset[tuple[DatasetKey, str, str]]:
        """The failing quality tests: data set, column (empty: the whole data set) and test."""
        return frozenset((self._keys[test.dataset], test.column, test.name) for test in self.document.failed_tests)

    @cached_property
    def sources(self) -> dict[DatasetKey, dict[DatasetKey, set[str]]]:
        """By written data set: its source data sets, each with the processes between them."""
        sources: dict[DatasetKey, dict[DatasetKey, set[str]]] = {}
        for flow in self.document.flows:
            made_of = sources.setdefault(self._keys[flow.output], {})
            made_of.setdefault(self._keys[flow.input], set()).add(self.document.processes[flow.process].qualified_name)
        return sources

    @cached_property
    def origins(self) -> dict[ColumnKey, set[ColumnKey]]:
        """By column: the columns whose values reach it in one step."""
        origins: dict[ColumnKey, set[ColumnKey]] = {}
        for edge in self.document.edges:
            if edge.is_value:
                origins.setdefault(self.key(edge.output), set()).add(self.key(edge.input))
        return origins

    @cached_property
    def graph(self) -> LineageGraph:
        """The edges, also those that only decide about rows, and the flows."""
        return LineageGraph(self.document, conditions=True)

    def is_read(self, column: ColumnKey) -> bool:
        """Whether a value or a condition of another column depends on a column."""
        return bool(self.consumers(column))

    def consumers(self, column: ColumnKey) -> frozenset[ColumnKey]:
        """The columns that a column reaches in one step, by values or conditions."""
        edges = self.graph.out_of(self.columns[column]) if column in self.columns else ()
        return frozenset(self.key(edge.output) for edge in edges)

    def process_of(self, edge: Edge) -> str:
        """The qualified name of the process of an edge."""
        return self.document.processes[edge.process].qualified_name

    def downstream(
        self, starts: Iterable[ColumnKey], follows: Callable[[Edge], bool] = lambda _edge: True
    ) -> Downstream:
        """The columns downstream of these along edges that `follows` accepts, without the starts.

        A condition decides about all rows of a data set. Those are named but not followed further: all columns of that
        data set would be included.
        """
        beginnings = [number for start in starts if (number := self.columns.get(start)) is not None]
        visited, queue = set(beginnings), deque(beginnings)
        columns: dict[ColumnKey, None] = {}
        processes: dict[str, None] = {}
        while queue:
            for edge in self.graph.out_of(queue.popleft()):
                if not follows(edge):
                    continue
                processes.setdefault(self.process_of(edge))
                if edge.output not in visited:
                    visited.add(edge.output)
                    columns.setdefault(self.key(edge.output))
                    if edge.is_value and self.document.columns[edge.output].name:
                        queue.append(edge.output)
        return Downstream(columns=tuple(columns), processes=tuple(processes))

    @cached_property
    def _feeds(self) -> dict[DatasetKey, dict[DatasetKey, set[str]]]:
        feeds: dict[DatasetKey, dict[DatasetKey, set[str]]] = {}
        for output, sources in self.sources.items():
            for source, processes in sources.items():
                feeds.setdefault(source, {})[output] = processes
        return feeds

    def fed(self, dataset: DatasetKey) -> Fed:
        """The data sets downstream of one, by tables alone."""
        keys = reach((dataset,), lambda key: ((None, output) for output in sorted(self._feeds.get(key, ()))))
        processes = dict.fromkeys(
            process
            for key in keys
            for _, feeders in sorted(self._feeds.get(key, {}).items())
            for process in sorted(feeders)
        )
        return Fed(datasets=tuple(keys)[1:], processes=tuple(processes))


_Uses = frozenset[tuple[str, bool]]
"""The processes (qualified names) that read (False) or write (True) a data set."""


def aligned(old_document: LineageDocument, new_document: LineageDocument) -> LineageDocument:
    """The state before, with placeholders under the names of the scanned assets that took their place.

    A placeholder went and an asset that is none came, both are called the same, and the same processes read and write
    them: the lineage was moved, it did not change.
    """
    old, new = View(old_document), View(new_document)
    placeholders, come = _uses(old, new, placeholder=True), _uses(new, old, placeholder=False)
    moved = {
        placeholders[use][0]: come[use][0]
        for use in placeholders.keys() & come.keys()
        if len(placeholders[use]) == len(come[use]) == 1
    }
    if not moved:
        return old_document
    datasets = (
        structs.replace(dataset, type=new_key[0], qualified_name=new_key[1], placeholder=False)
        if (new_key := moved.get((dataset.type, dataset.qualified_name)))
        else dataset
        for dataset in old_document.datasets
    )
    return structs.replace(old_document, datasets=tuple(datasets))


def _uses(view: View, other_view: View, *, placeholder: bool) -> dict[tuple[str, _Uses], list[DatasetKey]]:
    """The data sets that are only in `view`, by their short names and uses."""
    uses: dict[DatasetKey, set[tuple[str, bool]]] = defaultdict(set)
    numbered = tuple(view.datasets)
    for process in view.document.processes:
        for side, is_written in ((process.inputs, False), (process.outputs, True)):
            for number in side:
                uses[numbered[number]].add((process.qualified_name, is_written))
    keys_by_use: dict[tuple[str, _Uses], list[DatasetKey]] = defaultdict(list)
    for key, dataset in view.datasets.items():
        if dataset.placeholder is placeholder and key not in other_view.datasets and uses[key]:
            keys_by_use[dataset.name, frozenset(uses[key])].append(key)
    return keys_by_use


class Topic(StrEnum):
    """The kind of thing that changed. Rules route by it."""

    SCHEMA = "schema"
    LINEAGE = "lineage"
    MASK = "mask"
    OVERDUE = "overdue"
    GATE = "gate"
    QUALITY = "quality"


class Severity(StrEnum):
    """How much a change may harm what is downstream."""

    HARMLESS = "harmless"
    RISKY = "risky"
    BREAKING = "breaking"

    @property
    def rank(self) -> int:
        """0 for harmless; higher is worse."""
        return _RANKS.index(self)


_RANKS = (Severity.HARMLESS, Severity.RISKY, Severity.BREAKING)


class ChangeKind(StrEnum):
    """The kind of change."""

    COLUMN_ADDED = "column_added"
    COLUMN_DROPPED = "column_dropped"
    COLUMN_RENAMED = "column_renamed"
    TYPE_WIDENED = "type_widened"
    TYPE_CHANGED = "type_changed"
    SOURCE_CAME = "source_came"
    SOURCE_WENT = "source_went"
    COLUMN_SOURCE_CAME = "column_source_came"
    COLUMN_SOURCE_WENT = "column_source_went"
    MASK_LOST = "mask_lost"
    MASK_UNCERTAIN = "mask_uncertain"
    JOB_OVERDUE = "job_overdue"
    GATE_BROKEN = "gate_broken"
    TEST_FAILED = "test_failed"


class Change(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One change.

    `dataset` and `column` are what changed; a change of a job has `process` (qualified name), one of a gate `policy`.
    `before` and `after`: types, names or times, by kind; `others`: further columns that the change is about (sources
    that came or went, columns that are or may be plain now). `processes`: those that make the change (qualified names).
    `starts`: the columns whose downstream is hit; `was`: they are to be looked for in the state before.
    """

    topic: Topic
    severity: Severity
    kind: ChangeKind
    dataset: DatasetKey = ("", "")
    column: str = ""
    process: str = ""
    policy: str = ""
    before: str = ""
    after: str = ""
    others: tuple[ColumnKey, ...] = ()
    processes: tuple[str, ...] = ()
    starts: tuple[ColumnKey, ...] = ()
    was: bool = False

    @property
    def subject(self) -> tuple[str, str]:
        """Type and qualified name of the message's subject. Changes of one subject, topic and severity share one."""
        if self.policy:
            return "policy", self.policy
        if self.process:
            return "process", self.process
        return self.dataset


_MAX_OTHERS = 10
_MAX_TEXT = 1000
"""Characters of a sentence."""


def _others(change: Change) -> str:
    names = ", ".join(map(column_name, change.others[:_MAX_OTHERS]))
    remaining = len(change.others) - _MAX_OTHERS
    return f"{names} and {remaining:,} more" if remaining > 0 else names


def column_name(column: ColumnKey) -> str:
    """A column for people: the end of its data set's name, and the column. Without a column: the data set alone."""
    dataset = short_name(column[1])
    return f"{dataset}.{column[2]}" if column[2] else dataset


def short_name(qualified_name: str) -> str:
    """The last part of a qualified name."""
    return qualified_name.rstrip("/").rpartition("/")[2].rpartition("#")[2] or qualified_name


def _time(text: str) -> str:
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M} UTC"


_TEXTS: dict[ChangeKind, tuple[str, str, str]] = {
    ChangeKind.COLUMN_ADDED: ("column {column} was added ({after})", "column added", "columns added"),
    ChangeKind.COLUMN_DROPPED: ("column {column} was dropped ({before})", "column dropped", "columns dropped"),
    ChangeKind.COLUMN_RENAMED: ("column {before} was renamed to {after}", "column renamed", "columns renamed"),
    ChangeKind.TYPE_WIDENED: ("column {column} was widened: {before} → {after}", "type widened", "types widened"),
    ChangeKind.TYPE_CHANGED: ("column {column} has another type: {before} → {after}", "type changed", "types changed"),
    ChangeKind.SOURCE_CAME: ("it is now also made of {others}", "source came", "sources came"),
    ChangeKind.SOURCE_WENT: ("it is no longer made of {others}", "source went", "sources went"),
    ChangeKind.COLUMN_SOURCE_CAME: (
        "column {column} is now also made of {others}",
        "column with a new source",
        "columns with new sources",
    ),
    ChangeKind.COLUMN_SOURCE_WENT: (
        "column {column} is no longer made of {others}",
        "column lost a source",
        "columns lost sources",
    ),
    ChangeKind.MASK_LOST: (
        "the value of {column} was masked before, and now reaches {others} plain",
        "column",
        "columns",
    ),
    ChangeKind.MASK_UNCERTAIN: (
        "the value of {column} was masked before, and now may reach {others} plain, through code that is not known",
        "column",
        "columns",
    ),
    ChangeKind.JOB_OVERDUE: ("it last started at {before}, and by its own rhythm was due by {after}", "job", "jobs"),
    ChangeKind.GATE_BROKEN: ("{before}: {after}", "rule", "rules"),
    ChangeKind.TEST_FAILED: ("the test {after} failed{on_column}", "test failed", "tests failed"),
}
"""Of each kind: the sentence, and how one and many are counted in a headline."""


def sentence(change: Change) -> str:
    """The sentence about a change. It continues the name of the message's subject."""
    old_text, new_text = change.before, change.after
    if change.kind is ChangeKind.JOB_OVERDUE:
        old_text, new_text = _time(old_text), _time(new_text)
    return _TEXTS[change.kind][0].format(
        column=change.column,
        on_column=f" on column {change.column}" if change.column else "",
        before=old_text,
        after=new_text,
        others=_others(change),
    )[:_MAX_TEXT]


_HEADLINES: dict[Topic, str] = {
    Topic.SCHEMA: "Schema of {name}: {what}",
    Topic.LINEAGE: "Lineage of {name}: {what}",
    Topic.MASK: "Mask lost: {name}, {what}",
    Topic.OVERDUE: "Job overdue: {name}",
    Topic.GATE: "Gate broken: {name}, {what}",
    Topic.QUALITY: "Quality of {name}: {what}",
}


_MASK_UNCERTAIN = "Mask uncertain: {name}, {what}"


def headline(changes: Sequence[Change], name: str) -> str:
    """The title of a message about these changes, which share subject and topic."""
    counts = Counter(change.kind for change in changes)
    counted = ", ".join(_counted(kind, count) for kind, count in sorted(counts.items()))
    uncertain = changes[0].kind is ChangeKind.MASK_UNCERTAIN  # its severity is not that of a lost mask
    return (_MASK_UNCERTAIN if uncertain else _HEADLINES[changes[0].topic]).format(name=name, what=counted)


def _counted(kind: ChangeKind, count: int) -> str:
    _, singular, many = _TEXTS[kind]
    return f"{count:,} {many if count > 1 else singular}"
