"""Data sets that are written by jobs whose events the settings ignore: what these write there is not known. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.model import ANY_EXCLUDED, DIRECT, EXCLUDED, Asset, Column, ColumnEdge, Process
from shared.naming.canonical import canonical
from shared.naming.stores.families import Identity
from shared.translation.process.union import ALL_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedWrite:
    """A data set by its spelling in events, with its names in catalogs of tables, and the time of the last ignored
    event by which it was written.
    """

    namespace: str
    name: str
    tables: tuple[str, ...] = ()
    last: datetime

    @property
    def spelling(self) -> str:
        """Namespace and name as one text."""
        return f"{self.namespace.rstrip('/')}/{self.name.lstrip('/')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """Excluded writes by the identities and the tables of their data sets."""

    by_identity: Mapping[Identity, ExcludedWrite]
    by_table: Mapping[str, ExcludedWrite]

    @classmethod
    def of(cls, writes: Iterable[ExcludedWrite]) -> "Writes":
        """Of several writes to one data set the last."""
        ordered = sorted(writes, key=lambda each: each.last)
        return cls(
            by_identity={canonical(each.namespace, each.name): each for each in ordered},
            by_table={table.lower(): each for each in ordered for table in each.tables},
        )

    def to(self, asset: Asset) -> ExcludedWrite | None:
        """The write to an asset, if there is one."""
        found = self.by_identity.get(canonical(asset.namespace, asset.name))
        return found or next((self.by_table[table] for table in asset.tables if table in self.by_table), None)


def excluded_jobs(
    writes: Iterable[ExcludedWrite], processes: Iterable[tuple[Process, datetime | None]]
) -> Iterator[tuple[Process, datetime]]:
    """A process for each data set of these processes (with the times of their last runs) that an excluded write reached
    later than they did. It makes each known column of EXCLUDED; the time is that of the write.
    """
    by_asset = Writes.of(writes)
    assets: dict[str, Asset] = {}
    columns: dict[str, set[str]] = {}
    written_moments: dict[str, datetime] = {}
    for process, last in processes:
        assets |= {asset.qualified_name: asset for asset in (*process.inputs, *process.outputs)}
        if last:
            written_moments |= {
                output.qualified_name: max(last, written_moments.get(output.qualified_name, last))
                for output in process.outputs
            }
        for schema in process.schemas:
            columns.setdefault(schema.qualified_name, set()).update(name for name, _ in schema.columns)
        for end in (end for edge in process.columns for end in (edge.input, edge.output)):
            columns.setdefault(end.qualified_name, set()).add(end.column)
    for name, asset in sorted(assets.items()):
        write = by_asset.to(asset)
        if write and (name not in written_moments or written_moments[name] < write.last):
            yield _process(asset, sorted(columns.get(name, set()) - {ALL_ROWS})), write.last


def _process(asset: Asset, columns: Iterable[str]) -> Process:
    return Process(
        qualified_name=f"{EXCLUDED.namespace}/jobs/{asset.qualified_name}",
        name="jobs that a filter leaves out",
        operations=(),
        inputs=(EXCLUDED,),
        outputs=(asset,),
        columns=tuple(
            ColumnEdge(input=ANY_EXCLUDED, output=Column(qualified_name=asset.qualified_name, column=name), kind=DIRECT)
            for name in columns
        ),
    )
