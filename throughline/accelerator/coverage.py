"""Compare processes that others left with what ours show: which are covered, and what they alone have. Pure.

The same data set may have two names: a scan's, and a placeholder's in small letters; a lake's account has two hosts; a
resource set ends in patterns. Two names are one data set here if they differ in nothing else, as in the search for a
data set's asset (`shared/naming/matching.py`).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from shared.atlas.entities import column_pairs
from shared.catalog.port import AssetKey, ForeignProcess

Link = tuple[str, str]
"""Two data sets, by folded names: one is read for the other."""
ColumnLink = tuple[tuple[str, str], tuple[str, str]]
"""Two columns, each with the folded name of its data set."""

_PATTERNS = re.compile(r"(/\{[^{}/]*\})+$")
_ANY_COLUMN = frozenset({"", "*"})


def folded(name: str) -> str:
    """A data set's name without what differs between the spellings of one data set."""
    return _PATTERNS.sub("", name.rstrip("/").lower()).replace(".blob.core.", ".dfs.core.", 1).rstrip("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Data sets and columns that processes connect."""

    links: frozenset[Link] = frozenset()
    columns: frozenset[ColumnLink] = frozenset()

    def __sub__(self, other: "Edges") -> "Edges":
        return Edges(links=self.links - other.links, columns=self.columns - other.columns)


def edges_of(inputs: Iterable[AssetKey], outputs: Iterable[AssetKey], mapping: object) -> Edges:
    """What a process shows, by its ends and its `columnMapping`, without those from a data set to itself."""
    return _edges([name for _, name in inputs], [name for _, name in outputs], column_pairs(mapping))


def _edges(
    inputs: Iterable[str], outputs: Iterable[str], columns: Iterable[tuple[tuple[str, str], tuple[str, str]]]
) -> Edges:
    sources, targets = {folded(name) for name in inputs}, {folded(name) for name in outputs}
    pairs = (
        ((folded(source), column.lower()), (folded(target), target_column.lower()))
        for (source, column), (target, target_column) in columns
        if not _ANY_COLUMN & {column, target_column}
    )
    return Edges(
        links=frozenset((source, target) for source in sources for target in targets if source != target),
        columns=frozenset(pair for pair in pairs if pair[0][0] != pair[1][0]),
    )


class Coverage(StrEnum):
    """How much of a process ours show."""

    COVERED = "covered"
    COLUMNS = "covered without its columns"
    PARTLY = "partly covered"
    UNCOVERED = "not covered"
    EMPTY = "without lineage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A process that was left, by its guid, and what of it ours do not show."""

    guid: str
    process: ForeignProcess
    coverage: Coverage
    uncovered: Edges

    @property
    def may_go(self) -> bool:
        """Whether the catalog loses nothing with it."""
        return self.coverage is Coverage.COVERED


def compared(guid: str, process: ForeignProcess, covering: Edges) -> Compared:
    """A process, compared with what ours show (`covering`). Without an input or an output it is EMPTY, not COVERED."""
    edges = _edges(
        [asset.qualified_name for asset in process.inputs],
        [asset.qualified_name for asset in process.outputs],
        process.columns,
    )
    uncovered = edges - covering
    if not edges.links:
        coverage = Coverage.EMPTY
    elif not uncovered.links:
        coverage = Coverage.COLUMNS if uncovered.columns else Coverage.COVERED
    else:
        coverage = Coverage.PARTLY if uncovered.links < edges.links else Coverage.UNCOVERED
    return Compared(guid=guid, process=process, coverage=coverage, uncovered=uncovered)
