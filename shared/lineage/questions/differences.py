"""What differs between two documents of lineage, by names: each numbers its objects differently."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from shared.lineage.document import NOT_SET, LineageDocument

Names = tuple[str, ...]
"""What identifies one object: a qualified name, with a column, or a process with both ends and the kind of an edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Objects of one kind that only the later document has (`added`), and only the earlier one (`removed`); sorted."""

    added: tuple[Names, ...]
    removed: tuple[Names, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Those of two documents, for what was valid when each was made. A column counts with its type, an edge with its
    kind: a change of these is one removed and one added.
    """

    datasets: Difference
    columns: Difference
    processes: Difference
    flows: Difference
    edges: Difference


def differences(earlier: LineageDocument, later: LineageDocument) -> Differences:
    """What changed from one document to the other."""
    before, after = _named(earlier), _named(later)
    return Differences(
        **{
            kind: Difference(added=tuple(sorted(after[kind] - names)), removed=tuple(sorted(names - after[kind])))
            for kind, names in before.items()
        }
    )


def _named(document: LineageDocument) -> dict[str, AbstractSet[Names]]:
    datasets = [dataset.qualified_name for dataset in document.datasets]
    processes = [process.qualified_name for process in document.processes]
    columns = [(datasets[column.dataset], column.name) for column in document.columns]
    return {
        "datasets": {(name,) for name in datasets},
        "columns": {(*columns[number], column.type) for number, column in enumerate(document.columns) if column.name},
        "processes": {(name,) for name in processes},
        "flows": {
            (processes[flow.process], datasets[flow.input], datasets[flow.output])
            for flow in document.flows
            if flow.valid_to == NOT_SET
        },
        "edges": {
            (processes[edge.process], *columns[edge.input], *columns[edge.output], edge.kind.value)
            for edge in document.edges
            if edge.valid_to == NOT_SET
        },
    }
