"""What an application did to data sets as wholes: dropped, renamed and emptied them. Pure.

Of each data set only the latest drop, renaming and emptying are known: in a job that goes round and round in one
application the last round counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.model import Asset
from shared.naming.datasets.identity import Identity
from shared.naming.rules.rule import bounded
from shared.translation.job.identity import MAX_NAME_LENGTH

DROP, RENAME, TRUNCATE = "DROP", "RENAME", "TRUNCATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvent:
    """What became of the data set with `qualified_name`, latest `at`: DROP, RENAME or TRUNCATE.

    A RENAME tells the asset that it is now, and the two places that stand in the names of processes. Where only a
    statement tells, there is no qualified name, but the name of a `table`.
    """

    state: str
    qualified_name: str
    at: datetime
    table: str = ""
    asset: Asset | None = None
    before: str = ""
    after: str = ""

    def sort_key(self) -> tuple[datetime, str, str]:
        """By what fates of one data set are sorted: the last counts."""
        return (self.at, self.after, str(self.asset))


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvents:
    """All that became of an application's data sets, by what it is and by the qualified name of the data set."""

    dropped: Mapping[str, datetime] = field(default_factory=dict)
    emptied: Mapping[str, datetime] = field(default_factory=dict)
    renamed: Mapping[str, LifecycleEvent] = field(default_factory=dict)
    by_table: tuple[LifecycleEvent, ...] = ()

    @classmethod
    def of(cls, lifecycle: Iterable[LifecycleEvent]) -> "LifecycleEvents":
        """Of each data set and kind the latest."""
        latest: dict[str, dict[str, LifecycleEvent]] = {DROP: {}, RENAME: {}, TRUNCATE: {}}
        by_table: dict[tuple[str, str], LifecycleEvent] = {}
        for event in sorted(lifecycle, key=LifecycleEvent.sort_key):
            if event.table:
                by_table[event.table, event.state] = event
            else:
                latest[event.state][event.qualified_name] = event
        return cls(
            dropped={name: event.at for name, event in latest[DROP].items()},
            emptied={name: event.at for name, event in latest[TRUNCATE].items()},
            renamed=latest[RENAME],
            by_table=tuple(by_table[key] for key in sorted(by_table)),
        )

    def located(self, tables: "Tables") -> "LifecycleEvents":
        """With those that are known by a table's name at the data sets of that name."""
        if not self.by_table:
            return self
        dropped, emptied = dict(self.dropped), dict(self.emptied)
        for event in self.by_table:
            asset = tables.find(event.table)
            if asset:
                known = dropped if event.state == DROP else emptied
                known[asset.qualified_name] = max(known.get(asset.qualified_name, event.at), event.at)
        return LifecycleEvents(dropped=dropped, emptied=emptied, renamed=self.renamed)

    def concerns(self, assets: Iterable[Asset]) -> bool:
        """Whether any of these data sets has a fate, or one that is called like it."""
        known = (self.dropped, self.emptied, self.renamed)
        each = tuple(assets)
        return bool(self.called(each)) or any(asset.qualified_name in names for asset in each for names in known)

    def called(self, assets: Iterable[Asset]) -> frozenset[str]:
        """The qualified names of those of these data sets that are called like one of which only a statement tells."""
        names = {_last(event.table) for event in self.by_table}
        return frozenset(
            asset.qualified_name for asset in assets if any(_last(table) in names for table in asset.tables)
        )

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.dropped or self.emptied or self.renamed or self.by_table)

    def now(self, asset: Asset, at: datetime) -> tuple[Asset | None, tuple[LifecycleEvent, ...]]:
        """What the data set that was this asset then is now (None: it was dropped), and by which renamings."""
        if asset.qualified_name not in self.renamed and asset.qualified_name not in self.dropped:
            return asset, ()
        steps: list[LifecycleEvent] = []
        passed: set[str] = set()
        while asset.qualified_name not in passed:
            passed.add(asset.qualified_name)
            move, end = self.renamed.get(asset.qualified_name), self.dropped.get(asset.qualified_name)
            if end and end >= at and not (move and at <= move.at <= end):
                return None, ()
            if move is None or move.asset is None or move.at < at:
                break
            steps.append(move)
            asset, at = move.asset, move.at
        return asset, tuple(steps)


def _last(table: str) -> str:
    return table.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The data sets of an application by the names that its events give them in catalogs of tables."""

    exact: Mapping[str, Asset]
    last: Mapping[str, Asset | None]
    """By a name's last part; None where several data sets have it."""

    @classmethod
    def of(cls, assets: Iterable[Asset]) -> "Tables":
        """From all that the application names."""
        exact: dict[str, Asset] = {}
        last: dict[str, Asset | None] = {}
        for asset in sorted(set(assets)):
            for table in asset.tables:
                exact.setdefault(table, asset)
                known = last.setdefault(_last(table), asset)
                if known is None or known.qualified_name != asset.qualified_name:
                    last[_last(table)] = None
        return cls(exact=exact, last=last)

    def find(self, table: str) -> Asset | None:
        """The data set; a name without a database is any database's, where there is only one."""
        return self.exact.get(table) if "." in table else self.last.get(table)


def place_of(identity: Identity) -> str:
    """A sink's place, as it stands at the end of a process's qualified name."""
    return f"{identity.namespace}/{identity.name.lstrip('/')}"


def present_name(qualified_name: str, event: LifecycleEvent) -> str:
    """A process's qualified name once its sink was renamed; one that was cut stays as it is."""
    if not qualified_name.endswith(f"/{event.before}"):
        return qualified_name
    return bounded(f"{qualified_name[: -len(event.before)]}{event.after}", MAX_NAME_LENGTH)
