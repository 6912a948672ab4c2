"""Lifecycle events of an application's data sets: dropped, renamed, truncated.

Only the latest event of each kind counts for a data set: a loop in one application repeats them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.model import Asset
from shared.naming.stores.families import bounded
from shared.translation.process.identity import MAX_NAME_LENGTH

DROP, RENAME, TRUNCATE = "DROP", "RENAME", "TRUNCATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvent:
    """DROP, RENAME or TRUNCATE (`state`) of the data set with `qualified_name`, at the time `at`.

    A RENAME has the new `asset`, and the places before and after as they stand in names of processes. Events known only
    from SQL have no qualified name but the name of a `table`.
    """

    state: str
    qualified_name: str
    at: datetime
    table: str = ""
    asset: Asset | None = None
    before: str = ""
    after: str = ""

    def sort_key(self) -> tuple[datetime, str, str]:
        """Order of events of one data set: the last counts."""
        return (self.at, self.after, str(self.asset))


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvents:
    """The lifecycle events of an application's data sets, by kind and qualified name."""

    dropped: Mapping[str, datetime] = field(default_factory=dict)
    emptied: Mapping[str, datetime] = field(default_factory=dict)
    renamed: Mapping[str, LifecycleEvent] = field(default_factory=dict)
    by_table: tuple[LifecycleEvent, ...] = ()

    @classmethod
    def of(cls, lifecycle: Iterable[LifecycleEvent]) -> "LifecycleEvents":
        """The latest of each data set and kind."""
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
        """With the events by table name assigned to the data sets of that name."""
        if not self.by_table:
            return self
        dropped, emptied = dict(self.dropped), dict(self.emptied)
        for event in self.by_table:
            asset = tables.find(event.table)
            if asset:
                known_moments = dropped if event.state == DROP else emptied
                known_moments[asset.qualified_name] = max(known_moments.get(asset.qualified_name, event.at), event.at)
        return LifecycleEvents(dropped=dropped, emptied=emptied, renamed=self.renamed)

    def __bool__(self) -> bool:
        """Whether there are any events."""
        return bool(self.dropped or self.emptied or self.renamed or self.by_table)

    def now(self, asset: Asset, moment: datetime) -> tuple[Asset | None, tuple[LifecycleEvent, ...]]:
        """The present asset of a data set that was `asset` at that time (None: dropped), and the renames in between."""
        if asset.qualified_name not in self.renamed and asset.qualified_name not in self.dropped:
            return asset, ()
        steps: list[LifecycleEvent] = []
        passed: set[str] = set()
        while asset.qualified_name not in passed:
            passed.add(asset.qualified_name)
            move, end = self.renamed.get(asset.qualified_name), self.dropped.get(asset.qualified_name)
            if end and end >= moment and not (move and moment <= move.at <= end):
                return None, ()
            if move is None or move.asset is None or move.at < moment:
                break
            steps.append(move)
            asset, moment = move.asset, move.at
        return asset, tuple(steps)


def _last(table: str) -> str:
    return table.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The data sets of an application by their table names in the events."""

    exact: Mapping[str, Asset]
    last: Mapping[str, Asset | None]
    """By a name's last part; None if several data sets have it."""

    @classmethod
    def of(cls, assets: Iterable[Asset]) -> "Tables":
        """From all assets of the application."""
        exact: dict[str, Asset] = {}
        last: dict[str, Asset | None] = {}
        for asset in sorted(set(assets)):
            for table in asset.tables:
                exact.setdefault(table, asset)
                known_asset = last.setdefault(_last(table), asset)
                if known_asset is None or known_asset.qualified_name != asset.qualified_name:
                    last[_last(table)] = None
        return cls(exact=exact, last=last)

    def find(self, table: str) -> Asset | None:
        """The data set of a table name; one without a database matches if only one database has it."""
        return self.exact.get(table) if "." in table else self.last.get(table)


def present_name(qualified_name: str, event: LifecycleEvent) -> str:
    """A process's qualified name after its sink was renamed; a shortened name is unchanged."""
    if not qualified_name.endswith(f"/{event.before}"):
        return qualified_name
    return bounded(f"{qualified_name[: -len(event.before)]}{event.after}", MAX_NAME_LENGTH)
