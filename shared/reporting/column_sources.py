"""Who gave the columns of runs and of edges: Spark's own plan, the listener's events, or the job's statement."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shared.applications.state import LatestRun
from shared.model import Column, ColumnEdge, EdgeKind, Process
from shared.publishing.planning import ProcessRows, read_process
from shared.storage.port import Storage
from shared.storage_layout import process_key
from shared.translation.run.facts import ColumnSource, column_source


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSources:
    """The contributing runs of Spark: `exact` by plan, of which the listener's events `differ` in some; by plan with
    columns that are upper bounds (`opaque`); by `both`; by the `listener` only, which has no plan: their jobs run
    without throughline-plan.jar; and not known, made by an `rdd`.
    """

    exact: int = 0
    differ: int = 0
    opaque: int = 0
    both: int = 0
    listener: int = 0
    rdd: int = 0

    @classmethod
    def of(cls, counts: Mapping[ColumnSource, int]) -> "ColumnSources":
        """From numbers of runs by source."""
        differ = counts.get(ColumnSource.PLAN_DIFFERS, 0)
        return cls(
            exact=counts.get(ColumnSource.PLAN, 0) + differ,
            differ=differ,
            opaque=counts.get(ColumnSource.OPAQUE, 0),
            both=counts.get(ColumnSource.BOTH, 0),
            listener=counts.get(ColumnSource.LISTENER, 0),
            rdd=counts.get(ColumnSource.RDD, 0),
        )

    @property
    def runs(self) -> int:
        """All of them."""
        return self.exact + self.opaque + self.both + self.listener + self.rdd


EdgeKey = tuple[Column, Column, EdgeKind]

_WORDS: Mapping[ColumnSource | None, str] = {
    ColumnSource.PLAN: "plan",
    ColumnSource.PLAN_DIFFERS: "plan",
    ColumnSource.OPAQUE: "plan",
    ColumnSource.BOTH: "listener or plan",
    ColumnSource.LISTENER: "listener",
    ColumnSource.RDD: "listener",
    None: "events",
}


def edge_key(edge: ColumnEdge) -> EdgeKey:
    """What identifies an edge within its process."""
    return edge.input, edge.output, edge.kind


def edge_sources(storage: Storage, process: Process) -> dict[EdgeKey, tuple[str, ...]]:
    """Who gave each edge of a process: plan, listener, statement, events (of another engine than Spark), or `listener
    or plan` where a plan has parts that no rule knows. The last run of each application that contributes speaks for it.
    Raises StorageUnavailable and ContentLost.
    """
    sources: dict[EdgeKey, set[str]] = {}
    for content, latest in contents_of(storage, read_process(storage, process_key(process.qualified_name))):
        word = _WORDS[column_source(latest.facts if latest else None)]
        for edge in content.columns:
            sources.setdefault(edge_key(edge), set()).add("statement" if edge.parsed else word)
    return {key: tuple(sorted(words)) for key, words in sources.items()}


def contents_of(storage: Storage, rows: ProcessRows) -> Iterator[tuple[Process, LatestRun | None]]:
    """The contributions to a process, each with the last run of its application that contributed. Raises
    StorageUnavailable and ContentLost.
    """
    for part in rows.parts.values():
        content = part.loaded(storage)
        for contribution in content.contributions:
            yield contribution.content, content.latest
