"""Who gave the columns of runs and of edges: Spark's own plan, the listener's events, or the job's statement."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from shared.errors import ContentLost
from shared.model import Column, ColumnEdge, EdgeKind, Process
from shared.records.application.process_index import RESOLVE_TOGETHER
from shared.records.run_state import ContributionRecord, run_state_of
from shared.storage.port import Storage
from shared.storage_layout import CONTRIBUTIONS, process_key
from shared.translation.run.facts import BY_PLAN, RunFacts

_SPARK = frozenset({"Spark", "Databricks"})
"""The platforms (`RunFacts.platform`) whose jobs may have plans."""


class ColumnSource(StrEnum):
    """Who gave the columns of a run of Spark: the plan alone, where the listener's events agree or differ; both, where
    the plan has parts that no rule knows; or the listener alone.
    """

    PLAN = "exact by plan"
    PLAN_DIFFERS = "exact by plan, unlike the listener's"
    BOTH = "by listener and plan"
    LISTENER = "by listener only"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSources:
    """The contributing runs of Spark: `exact` by plan, of which the listener's events `differ` in some; by `both`; and
    by the `listener` only, which has no plan: their jobs run without throughline-plan.jar.
    """

    exact: int = 0
    differ: int = 0
    both: int = 0
    listener: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> "ColumnSources":
        """From numbers of runs by source."""
        differ = counts.get(ColumnSource.PLAN_DIFFERS, 0)
        return cls(
            exact=counts.get(ColumnSource.PLAN, 0) + differ,
            differ=differ,
            both=counts.get(ColumnSource.BOTH, 0),
            listener=counts.get(ColumnSource.LISTENER, 0),
        )

    @property
    def runs(self) -> int:
        """All of them."""
        return self.exact + self.both + self.listener


def column_source(facts: RunFacts | None) -> ColumnSource | None:
    """Who gave the columns of a run; None of one that is not Spark's, or does not contribute."""
    if facts is None:
        return None
    if facts.columns_by == BY_PLAN:
        return ColumnSource.PLAN_DIFFERS if facts.plan_differs else ColumnSource.PLAN
    if facts.plan_gaps:
        return ColumnSource.BOTH
    return ColumnSource.LISTENER if facts.platform in _SPARK else None


EdgeKey = tuple[Column, Column, EdgeKind]

_WORDS: Mapping[ColumnSource | None, str] = {
    ColumnSource.PLAN: "plan",
    ColumnSource.PLAN_DIFFERS: "plan",
    ColumnSource.BOTH: "listener or plan",
    ColumnSource.LISTENER: "listener",
    None: "events",
}


def edge_key(edge: ColumnEdge) -> EdgeKey:
    """What identifies an edge within its process."""
    return edge.input, edge.output, edge.kind


def edge_sources(storage: Storage, process: Process) -> dict[EdgeKey, tuple[str, ...]]:
    """Who gave each edge of a process: plan, listener, statement, events (of another engine than Spark), or `listener
    or plan` where a plan has parts that no rule knows. Edges through eliminated staging are not among them.

    The last run that supports a contribution speaks for it: a point read each. Raises StorageUnavailable.
    """
    found: dict[EdgeKey, set[str]] = {}
    for content, run_id in supported_contents(storage, process_key(process.qualified_name)):
        state = run_state_of(storage, run_id)
        by = _WORDS[column_source(state.facts if state else None)]
        for edge in content.columns:
            found.setdefault(edge_key(edge), set()).add("statement" if edge.parsed else by)
    return {key: tuple(sorted(names)) for key, names in found.items()}


def supported_contents(storage: Storage, process: str) -> Iterator[tuple[Process, str]]:
    """The contributions to a process (by key) that hold, each with its last supporter."""
    for row in storage.partition(CONTRIBUTIONS, process):
        if row.key.endswith(f"|{RESOLVE_TOGETHER}"):
            continue
        try:
            record = ContributionRecord.of(row, storage)
        except ContentLost:
            continue  # `verify --fix` processes its runs again
        supporters = [(each.at, run) for run, each in record.supporters.items() if not each.retracted]
        if record.content and supporters:
            yield record.content, max(supporters)[1]
