"""What one run reports beside its lineage: batches of streams, fates and states of data sets. Pure."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from shared.model import Asset, Span
from shared.naming.canonical import canonical, is_noise
from shared.openlineage.run import MergedDataset, MergedRun
from shared.openlineage.wire import STREAMING
from shared.translation.application.context import RunContext, StreamBatch
from shared.translation.application.lifecycle import DROP, RENAME, TRUNCATE, LifecycleEvent
from shared.translation.job.identity import place_of
from shared.translation.run.datasets import Datasets, Place
from shared.translation.run.sql_recovery import table_changed


def names_no_source(run: MergedRun) -> bool:
    """Whether the run writes, and names nothing that it reads but what it writes."""
    if not (run.inputs and run.outputs):
        return bool(run.outputs)
    outputs = {canonical(*dataset.key) for dataset in run.outputs}
    return all(canonical(*dataset.key) in outputs for dataset in run.inputs)


def batch_of(run: MergedRun, context: RunContext) -> StreamBatch | None:
    """The run as a stream's batch that writes nothing itself; None when it is none."""
    if run.processing_type.upper() != STREAMING or run.outputs or not run.inputs:
        return None
    inputs = tuple(sorted(set(Datasets.of(run, context).inputs.values())))
    seen = Span(first=run.first, last=run.last)
    return StreamBatch(seen=seen, run_id=run.run_id, inputs=inputs, began=seen.first < seen.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """What happened to a data set as a whole, in the listener's word (CREATE, OVERWRITE, ALTER, DROP, RENAME,
    TRUNCATE).

    A RENAME has the asset that it `became`, and both places as they stand in the names of processes. `internal`: the
    data set is one that no catalog shows.
    """

    asset: Asset
    state: str
    at: datetime
    became: Asset | None = None
    before: str = ""
    after: str = ""
    internal: bool = False


_RESOLVED = frozenset({DROP, RENAME, TRUNCATE})
"""The states by which what an application says of one process depends on what it did to others' data sets."""


def state_changes_in(
    run: MergedRun, context: RunContext, states: AbstractSet[str] | None = None
) -> tuple[StateChange, ...]:
    """The changes of state that a run brought, of these `states` if given; none of a run that failed or is not over."""
    if run.ended != "COMPLETE":
        return ()
    seen = [(dataset, *each) for dataset in run.outputs for each in dataset.states if not states or each[0] in states]
    if not seen:
        return ()
    place = Place.of(context)
    return tuple(change for each in seen if (change := _change(run, place, *each)))


def _change(
    run: MergedRun, place: Place, dataset: MergedDataset, state: str, before: tuple[str, str] | None
) -> StateChange | None:
    identity = place.identity(*dataset.key)
    if state != RENAME:
        asset = place.asset(_undoubled(dataset) if state in {DROP, TRUNCATE} else dataset)
        return StateChange(asset=asset, state=state, at=run.last, internal=is_noise(identity))
    return before and StateChange(
        asset=place.asset(MergedDataset(namespace=before[0], name=before[1])),
        state=RENAME,
        at=run.last,
        became=place.asset(dataset),
        before=place_of(place.identity(*before)),
        after=place_of(identity),
        internal=is_noise(identity),
    )


def _undoubled(dataset: MergedDataset) -> MergedDataset:
    """The data set at its place: DROP TABLE names the folder of a table's database twice (listener 1.53)."""
    database, separator, table = dataset.name.rpartition("/")
    folder = database.rpartition("/")[2]
    if separator and folder.endswith(".db") and database.endswith(f"/{folder}/{folder}"):
        return replace(dataset, name=f"{database[: -len(folder) - 1]}/{table}")
    return dataset


def lifecycle_events_in(run: MergedRun, context: RunContext) -> tuple[LifecycleEvent, ...]:
    """The lifecycle events that a run brought: what it dropped, renamed or emptied."""
    return lifecycle_events_of(run, state_changes_in(run, context, _RESOLVED))


def lifecycle_events_of(run: MergedRun, changes: Iterable[StateChange]) -> tuple[LifecycleEvent, ...]:
    """The lifecycle events among the state changes of a run; of a run without outputs what its statement says."""
    if run.ended == "COMPLETE" and not run.outputs:
        state, table = table_changed(run.statement)
        return (LifecycleEvent(state=state, qualified_name="", table=table, at=run.last),) if state else ()
    return tuple(
        LifecycleEvent(
            state=each.state,
            qualified_name=each.asset.qualified_name,
            at=each.at,
            asset=each.became,
            before=each.before,
            after=each.after,
        )
        for each in changes
        if each.state in _RESOLVED
    )
