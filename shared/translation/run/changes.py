"""What one run tells beside its lineage: batches of streams, fates and states of data sets. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from shared.model import Asset, Span
from shared.naming.datasets.canonical import canonical
from shared.naming.datasets.internal_paths import is_noise
from shared.openlineage.run import MergedDataset, MergedRun
from shared.translation.application.context import RunContext, StreamBatch
from shared.translation.application.lifecycle import DROP, RENAME, TRUNCATE, LifecycleEvent, place_of
from shared.translation.run.datasets import STREAMING, Datasets, Place
from shared.translation.sql.recovery import table_changed


def names_no_source(run: MergedRun) -> bool:
    """Whether the run writes, and names nothing that it reads but what it writes."""
    if not (run.inputs and run.outputs):
        return bool(run.outputs)
    outputs = {canonical(*dataset.key) for dataset in run.outputs}
    return all(canonical(*dataset.key) in outputs for dataset in run.inputs)


def batch_of(run: MergedRun, around: RunContext) -> StreamBatch | None:
    """The run as a stream's batch that writes nothing itself; None when it is none."""
    if run.processing_type.upper() != STREAMING or run.outputs or not run.inputs:
        return None
    inputs = tuple(sorted(set(Datasets.of(run, around).inputs.values())))
    seen = Span(first=run.first, last=run.last)
    return StreamBatch(seen=seen, run_id=run.run_id, inputs=inputs, began=seen.first < seen.last)


def lifecycle_events_in(run: MergedRun, around: RunContext) -> tuple[LifecycleEvent, ...]:
    """What the run did to data sets as wholes: dropped, renamed or emptied them."""
    if run.ended != "COMPLETE":
        return ()
    if not run.outputs:
        state, table = table_changed(run.statement)
        return (LifecycleEvent(state=state, qualified_name="", table=table, at=run.last),) if state else ()
    changes = [
        (dataset, state, before) for dataset in run.outputs for state, before in dataset.states if state in _FATES
    ]
    if not changes:
        return ()
    place = Place.of(around)
    return tuple(fate for change in changes for fate in _fate(run, place, *change))


_FATES = frozenset({DROP, RENAME, TRUNCATE})


def _fate(
    run: MergedRun, place: Place, dataset: MergedDataset, state: str, before: tuple[str, str] | None
) -> Iterator[LifecycleEvent]:
    if state in {DROP, TRUNCATE}:
        yield LifecycleEvent(state=state, qualified_name=place.asset(_undoubled(dataset)).qualified_name, at=run.last)
    elif state == RENAME and before:
        old = MergedDataset(namespace=before[0], name=before[1])
        yield LifecycleEvent(
            state=RENAME,
            qualified_name=place.asset(old).qualified_name,
            at=run.last,
            asset=place.asset(dataset),
            before=place_of(place.identity(*before)),
            after=place_of(place.identity(*dataset.key)),
        )


def _undoubled(dataset: MergedDataset) -> MergedDataset:
    """The data set at its place: DROP TABLE names the folder of a table's database twice (listener 1.53)."""
    database, separator, table = dataset.name.rpartition("/")
    folder = database.rpartition("/")[2]
    if separator and folder.endswith(".db") and database.endswith(f"/{folder}/{folder}"):
        return replace(dataset, name=f"{database[: -len(folder) - 1]}/{table}")
    return dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """What happened to a data set as a whole, in the listener's word (CREATE, OVERWRITE, ALTER, DROP, RENAME,
    TRUNCATE); a RENAME tells the qualified name that it `became`.
    """

    asset: Asset
    state: str
    at: datetime
    became: str = ""


def state_changes_in(run: MergedRun, around: RunContext) -> tuple[StateChange, ...]:
    """The changes of state that a run brought; none of a run that failed or has not ended."""
    if run.ended != "COMPLETE":
        return ()
    place = Place.of(around)
    return tuple(
        change
        for dataset in run.outputs
        if dataset.states and not is_noise(place.identity(*dataset.key))
        for state, before in dataset.states
        for change in _changes(run, place, dataset, state, before)
    )


def _changes(
    run: MergedRun, place: Place, dataset: MergedDataset, state: str, before: tuple[str, str] | None
) -> Iterator[StateChange]:
    asset = place.asset(_undoubled(dataset) if state == DROP else dataset)
    if state != RENAME:
        yield StateChange(asset=asset, state=state, at=run.last)
    elif before:
        old = place.asset(MergedDataset(namespace=before[0], name=before[1]))
        yield StateChange(asset=old, state=RENAME, at=run.last, became=asset.qualified_name)
        yield StateChange(asset=asset, state="CREATE", at=run.last)
