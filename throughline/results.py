"""What the library returns: frozen values of plain types, the same whatever Throughline's inside is called.

Tuples are sorted, and free of duplicates where they stand for a set.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Literal

from shared.lineage.graph import AmbiguousNameError as AmbiguousError
from shared.lineage.graph import UnknownNameError as UnknownError
from shared.lineage.steps import Dataset, Lineage, Step
from shared.texts import visible

__all__ = [
    "AmbiguousError",
    "Column",
    "ColumnEdge",
    "Dataset",
    "Explanation",
    "Lineage",
    "Process",
    "Run",
    "Step",
    "Translation",
    "UnknownError",
]


def _as_table(caption: str, titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in HTML, whose texts are escaped."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{escape(visible(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption>{escape(visible(caption))}</caption><tr>{head}</tr>{body}</table>"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Column:
    """A column of the data set with this qualified name. An empty `column` stands for all rows of it."""

    dataset: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ColumnEdge:
    """One input column and the output column that it reaches.

    `kind`: `DIRECT` where the value goes into the output, `INDIRECT` where it only decides which rows are written
    (filter, join, group). `masked`: every way of the value passes a mask. `steps` are OpenLineage's words for what
    happens on the way (IDENTITY, TRANSFORMATION, AGGREGATION, JOIN, FILTER …), and OPAQUE. `parsed`: no event names
    this edge, it was read from the SQL text. `expressions`: what the output is made of, where events or Spark's plan
    describe it, without literals. `opaque`: the input is an upper bound: its value may arrive or not, through code that
    Spark's plan does not show (`mapInPandas`, a typed `map`).
    """

    input: Column
    output: Column
    kind: Literal["DIRECT", "INDIRECT"]
    masked: bool
    steps: tuple[str, ...]
    parsed: bool
    expressions: tuple[str, ...] = ()
    opaque: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What one job does to one output, over all its runs. `qualified_name` is its identity in the catalog, and never
    changes. `end_not_seen`: it rests on runs whose end no event reported.
    """

    name: str
    qualified_name: str
    operations: tuple[str, ...]
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]
    columns: tuple[ColumnEdge, ...]
    end_not_seen: bool

    def _repr_html_(self) -> str:
        """For notebooks: a row for each column edge, or for each input where no column is known."""
        names = {dataset.qualified_name: dataset.name for dataset in (*self.inputs, *self.outputs)}
        rows = [
            (
                f"{names.get(edge.input.dataset, edge.input.dataset)}.{edge.input.column}",
                edge.output.column or "(all rows)",
                ", ".join((*map(str.lower, edge.steps), *(("masked",) if edge.masked else ()))),
                "; ".join(edge.expressions),
            )
            for edge in self.columns
        ] or [(dataset.name, "", "", "") for dataset in self.inputs]
        caption = f"{self.name} ({', '.join(self.operations)})"
        return _as_table(caption, ("from", "to", "how", "expression"), rows)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Run:
    """What became of a run, and why.

    `state`: `contributed` (it stands behind processes), `skipped`, `waiting`, `dead` or `not processed yet`.
    `translate` says `published` instead of `contributed`: it has no catalog to wait for.
    """

    run_id: str
    job: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """The lineage of a set of events. `ignored` counts the events that cannot carry lineage, by reason."""

    processes: tuple[Process, ...]
    runs: tuple[Run, ...]
    ignored: dict[str, int]

    def _repr_html_(self) -> str:
        """For notebooks: its processes, and the runs by what became of them."""
        runs = Counter((run.state, run.reason) for run in self.runs)
        rows = [(f"{number:,}", *outcome) for outcome, number in sorted(runs.items())]
        table = _as_table("runs", ("number", "state", "reason"), rows)
        return "".join((*(process._repr_html_() for process in self.processes), table))


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The name that a data set of an event gets in the catalog. `reasons` are the sentences that say why, in order;
    `others` are further names under which a scan may have found the same data set. `internal`: a log, checkpoint or
    temporary folder, which never becomes an asset.
    """

    dataset: Dataset
    rule: str
    reasons: tuple[str, ...]
    others: tuple[Dataset, ...]
    internal: bool
