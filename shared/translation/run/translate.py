"""Translate a merged run: a process for each sink, or the reason why there is none.

Beside its lineage a run reports batches of streams, and lifecycle events and states of data sets.
"""

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

import msgspec
from msgspec.structs import replace

from shared.model import Asset, Origin, Process, RunLineage, Span
from shared.naming.names import canonical, is_noise
from shared.naming.stores.families import Identity
from shared.openlineage.run import MergedDataset, MergedRun
from shared.openlineage.selection import (
    CHECK,
    CHECKS,
    DECLARED,
    DECLARED_JOBS,
    EXPOSURE,
    HIVE_OPERATIONS,
    UNKNOWN,
    Operation,
    split_job_name,
)
from shared.openlineage.wire import STREAMING
from shared.translation.process.identity import (
    JobIdentity,
    display_name,
    generic_identity,
    identity_of,
    inherit,
    name_process,
    place_of,
)
from shared.translation.process.union import origin_of, union
from shared.translation.run.application import (
    DROP,
    NO_CONTEXT,
    RENAME,
    TRUNCATE,
    LifecycleEvent,
    RunContext,
    StreamBatch,
)
from shared.translation.run.columns import column_edges, named_in_columns, sourceless
from shared.translation.run.datasets import Datasets, Place, seen_schemas, table_name
from shared.translation.run.exposures import DBT, exposures_in
from shared.translation.run.sql_recovery import NOTHING, Recovered, named_operation, recover, table_changed


class Skip(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The run has no lineage, for this `reason`."""

    reason: str


class Wait(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The run can't be judged yet, for this `reason`."""

    reason: str


RUN_FAILED = "the run failed"
"""Why a run that ended with FAIL or ABORT is skipped."""

_TESTS_DATA = "tests data: its results are quality, not lineage"
_TEST = "TEST"
"""The job type of dbt's tests. They write the rows that failed into a table of their own."""


def translate(
    run: MergedRun, context: RunContext = NO_CONTEXT, *, timed_out: bool = False, datasets: Datasets | None = None
) -> RunLineage | Skip | Wait:
    """Translate a run. `context`: what the other runs of its application report. `timed_out`: the run's end is no
    longer waited for. `datasets`: those of the run in this context, if the caller has them.

    A run counts if it ended with COMPLETE; without an end it counts after the timeout if it read and wrote. A stream
    counts as soon as it runs, and keeps what it did when it is cancelled or fails.
    """
    if not run.counts and not timed_out:
        return Wait(reason="no end event yet")
    if run.job_type.upper() == _TEST:
        return Skip(reason=_TESTS_DATA)
    if run.is_withdrawn:
        return Skip(reason=CHECK if run.job.namespace == CHECKS else RUN_FAILED)
    operation = _operation_in(run)
    of_dbt = exposures_in(run) if run.integration.upper() == DBT else ()
    of_exposures = [process for stated in of_dbt if (process := _of_exposures(stated, context))]
    if not run.outputs and not (run.statement and operation.moves_data) and not of_exposures:
        return Skip(reason=_why_nothing(run, has_outputs=False))
    work = _RunTranslation.of(run, context, operation, datasets or Datasets.of(run, context))
    processes = work.processes(
        recover(run, work.datasets, operation),
        lambda process: (
            not (operation in {UNKNOWN, DECLARED} and _only_itself(process)) and bool(run.ended or process.inputs)
        ),
    )
    processes += of_exposures
    if not processes:
        return Skip(reason=_why_nothing(run, has_outputs=bool(work.datasets.outputs)))
    if not operation.moves_data and all(_only_itself(process) or not process.inputs for process in processes):
        return Skip(reason="changes a definition, moves no data")
    return RunLineage(application_run=run.application_run, processes=_one_each(processes))


def _of_exposures(stated: MergedRun, context: RunContext) -> Process | None:
    """The process of the exposures of a table, as `exposures_in` gives it."""
    work = _RunTranslation.of(stated, context, DECLARED, Datasets.of(stated, context))
    processes = work.processes(NOTHING, lambda process: bool(process.inputs))
    return union(processes) if processes else work.without_outputs()


def _operation_in(run: MergedRun) -> Operation:
    """The operation of what has no job of its own, the one that Hive names, or the node in the job's name."""
    if run.job_type in DECLARED_JOBS:
        return DECLARED
    in_name = split_job_name(run.job.name, run.application.name if run.application else "")[1]
    return HIVE_OPERATIONS.get(run.hive_operation, in_name)


def _only_itself(process: Process) -> bool:
    """Whether it reads only what it writes: older listeners report so for jobs that infer a schema."""
    return bool(process.inputs) and {asset.qualified_name for asset in process.inputs} == {
        asset.qualified_name for asset in process.outputs
    }


def _why_nothing(run: MergedRun, *, has_outputs: bool) -> str:
    """The reason of a run without lineage; `has_outputs`: whether it has an output that is no noise."""
    if not run.ended:
        return "no end event and no lineage"
    if has_outputs:
        return "reads only what it writes"
    if run.outputs:
        return "writes only logs, checkpoints or staging files"
    if run.inputs:
        return "reads only"
    return "an application's own event" if run.is_application else "names no data set"


class _RunTranslation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What all processes of a run share."""

    run: MergedRun
    context: RunContext
    datasets: Datasets
    identity: JobIdentity
    generic_name: JobIdentity | None
    """The generic identity under which the job was published before a better one was known, if any."""
    operation: str
    origin: Origin

    @classmethod
    def of(cls, run: MergedRun, context: RunContext, operation: Operation, datasets: Datasets) -> "_RunTranslation":
        """From a run, its context and its data sets."""
        identity = inherit(identity_of(run), context.facts.identities)
        return cls(
            run=run,
            context=context,
            datasets=datasets,
            identity=identity,
            generic_name=generic_identity(run) if identity.strength.is_strong else None,
            operation=named_operation(run, operation),
            origin=origin_of(run, identity, context.facts.environment.workspace),
        )

    @property
    def schemas(self) -> dict[str, tuple[str, ...]]:
        """The columns of the run's inputs by qualified name."""
        inputs = self.datasets.inputs
        return {
            asset.qualified_name: dataset.columns
            for identity, dataset in self.datasets.read
            if dataset.schema and (asset := inputs.get(identity))
        }

    def processes(self, recovered: Recovered, counts: Callable[[Process], bool]) -> list[Process]:
        """One process for each output but noise, and one for a target that only the SQL names, if it `counts`. One that
        does not count supersedes nothing either: a run that only read a data set must not withdraw others' writes.
        """
        sinks = self.datasets.outputs
        outputs = [(output, sink) for sink, output in self.datasets.written if sink in sinks]
        if recovered.target:
            outputs.append((recovered.target, canonical(*recovered.target.key, self.datasets.place.environment)))
        translated = [(sink, self._process(output, sink, recovered)) for output, sink in outputs]
        counted = [(sink, process) for sink, process in translated if counts(process)]
        superseded = [
            self._superseded(*sink_and_process) for sink_and_process in counted if self.generic_name and self.run.ended
        ]
        return [*(process for _, process in counted), *superseded]

    def _superseded(self, sink: Identity, process: Process) -> Process:
        """An empty contribution to the process under the job's generic name: it supersedes older application runs, from
        before the job's better identity was known.
        """
        qualified_name, name = self._name(self.generic_name or self.identity, sink, process.outputs[0])
        return Process(
            qualified_name=qualified_name,
            name=name,
            operations=(),
            inputs=(),
            outputs=process.outputs,
            columns=(),
            generic_identity=True,
        )

    def without_outputs(self) -> Process | None:
        """The process of a table without exposures, which supersedes those that were stated before; None of noise."""
        for table, asset in self.datasets.inputs.items():
            qualified_name, name = self._name(self.identity, table, asset)
            return Process(
                qualified_name=qualified_name, name=name, operations=(), inputs=(asset,), outputs=(), columns=()
            )
        return None

    def _name(self, identity: JobIdentity, sink: Identity, target: Asset) -> tuple[str, str]:
        """Qualified and display name of the process that writes `sink`, or of all exposures of the table that is
        read.
        """
        is_of_exposures = self.run.job_type == EXPOSURE and len(self.datasets.inputs) == 1
        if is_of_exposures:
            ((sink, target),) = self.datasets.inputs.items()
        namespace = self.run.application.namespace if self.run.application else self.run.job.namespace
        names = name_process(namespace, identity, sink, tables=target.tables, version=self.context.names.version)
        return (names[0], display_name(target.name, "exposures")) if is_of_exposures else names

    def _process(self, output: MergedDataset, sink: Identity, recovered: Recovered) -> Process:
        """The process that writes `output`. Its inputs are those of the run, of its column lineage, and of its SQL; or
        those of its explicit lineage.
        """
        target = self.datasets.outputs.get(sink) or recovered.asset
        if target is None:
            raise LookupError(f"an output without an asset: {output.key}")
        run_inputs = self.datasets.inputs.values() if output.sources is None else ()
        named: dict[str, Asset] = {asset.qualified_name: asset for asset in run_inputs}
        places = named_in_columns(output) if output.fields or output.rows else {}
        sources = {place: self.datasets.resolve(*place) for place in (*(output.sources or ()), *places)}
        for source in sources.values():
            if source:
                named.setdefault(source.qualified_name, source)
        recovered = recovered.of(sink) if output.sources is None else NOTHING
        columns = column_edges(output, target, sources, self.schemas) if places else ()
        parsed = {asset.qualified_name: asset for asset in recovered.inputs if asset.qualified_name not in named}
        named |= parsed
        self_only = not named or named.keys() == {target.qualified_name}
        qualified_name, name = self._name(self.identity, sink, target)
        return Process(
            qualified_name=qualified_name,
            name=name,
            operations=(self.operation,),
            inputs=tuple(sorted(named.values())),
            outputs=(target,),
            columns=columns or recovered.edges(target),
            end_not_seen=not self.run.counts,
            sourceless=sourceless(output, target, columns),
            parsed=tuple(sorted(parsed)),
            unresolved_tables=() if self.run.exact_by_plan else recovered.unresolved_tables,
            generic_identity=self.identity.is_generic,
            batch_inputs=_read_by(self.context.batches) if self_only and output.sources is None else (),
            schemas=seen_schemas(self.datasets, {*named, target.qualified_name}),
            origin=self.origin,
            exact=self.run.exact_by_plan,
        )


def _read_by(batches: Iterable[StreamBatch]) -> tuple[Asset, ...]:
    return tuple(sorted({asset for batch in batches for asset in batch.inputs}))


def _one_each(processes: list[Process]) -> tuple[Process, ...]:
    """One process for each qualified name: two spellings of a sink in one run are one."""
    if len(processes) == 1:
        return tuple(processes)
    grouped: dict[str, list[Process]] = {}
    for process in processes:
        grouped.setdefault(process.qualified_name, []).append(process)
    return tuple([union(grouped[name]) for name in sorted(grouped)])


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
    span = Span(first=run.first, last=run.last)
    return StreamBatch(seen=span, run_id=run.run_id, inputs=inputs, began=span.first < span.last)


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
    states_of_outputs = [
        (dataset, *state) for dataset in run.outputs for state in dataset.states if not states or state[0] in states
    ]
    if not states_of_outputs:
        return ()
    place = Place.of(context)
    return tuple(change for state in states_of_outputs if (change := _change(run, place, *state)))


def _change(
    run: MergedRun, place: Place, dataset: MergedDataset, state: str, old_key: tuple[str, str] | None
) -> StateChange | None:
    identity = canonical(*dataset.key, place.environment)
    if state != RENAME:
        asset = place.asset(_undoubled(dataset) if state in {DROP, TRUNCATE} else dataset)
        return StateChange(asset=asset, state=state, at=run.last, internal=is_noise(identity))
    return old_key and StateChange(
        asset=place.asset(MergedDataset(namespace=old_key[0], name=old_key[1])),
        state=RENAME,
        at=run.last,
        became=place.asset(dataset),
        before=place_of(canonical(*old_key, place.environment)),
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
    """The lifecycle events among the state changes of a run; of a run without outputs what its plan or its statement
    says.
    """
    if run.ended == "COMPLETE" and not run.outputs:
        state, table = run.table_change
        state, table = (state, table_name(table)) if table else table_changed(run.statement)
        return (LifecycleEvent(state=state, qualified_name="", table=table, at=run.last),) if state else ()
    return tuple(
        LifecycleEvent(
            state=change.state,
            qualified_name=change.asset.qualified_name,
            at=change.at,
            asset=change.became,
            before=change.before,
            after=change.after,
        )
        for change in changes
        if change.state in _RESOLVED
    )
