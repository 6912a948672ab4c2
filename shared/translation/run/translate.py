"""One merged run -> what it says: a process for each sink, or the reason why there is none. Pure."""

import re
from collections.abc import Callable, Iterable

import msgspec

from shared.model import Asset, Origin, Process, RunLineage
from shared.naming.datasets.identity import Identity
from shared.openlineage.operations import UNKNOWN, Operation, split_job_name
from shared.openlineage.run import MergedDataset, MergedRun
from shared.translation.aggregate import union
from shared.translation.application.context import NO_CONTEXT, RunContext, StreamBatch
from shared.translation.job.identity import JobIdentity, generic_identity, identity_of, inherit, name_process
from shared.translation.job.origin import origin_of
from shared.translation.run.columns import column_edges, sourceless
from shared.translation.run.datasets import STREAMING, Datasets
from shared.translation.run.schemas import seen_schemas
from shared.translation.sql.recovery import Recovered, recover


class Skip(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The run has no lineage, and why."""

    reason: str


class Wait(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The run cannot be judged yet, and why."""

    reason: str


def translate(
    run: MergedRun, around: RunContext = NO_CONTEXT, *, timed_out: bool = False, datasets: Datasets | None = None
) -> RunLineage | Skip | Wait:
    """What a run says. `around` is what the other runs of its application tell; `timed_out`: nothing came for so long
    that its end will not be waited for any more; `datasets` are those of the run in these surroundings, where they are
    at hand.

    A run counts when it ended by COMPLETE; without an end it counts after the timeout if it read and wrote.
    """
    if run.ended in {"FAIL", "ABORT"}:
        return Skip(reason="the run failed")
    if not run.ended and not timed_out:
        return Wait(reason="no end seen yet")
    operation = split_job_name(run.job.name, run.application.name if run.application else "")[1]
    if not run.outputs and not (run.statement and operation.moves_data):
        return Skip(reason=_why_nothing(run, written=False))
    identity = inherit(identity_of(run), around.told.identities)
    work = _RunTranslation(
        run=run,
        around=around,
        datasets=datasets or Datasets.of(run, around),
        identity=identity,
        formerly=generic_identity(run) if identity.strength.is_strong else None,
        operation=_operation(run, operation),
        origin=origin_of(run, identity, around.told.where.workspace),
    )
    processes = work.processes(
        recover(run, work.datasets, operation),
        lambda process: not (operation is UNKNOWN and _only_itself(process)) and bool(run.ended or process.inputs),
    )
    if not processes:
        return Skip(reason=_why_nothing(run, written=bool(work.datasets.outputs)))
    if not operation.moves_data and all(_only_itself(process) or not process.inputs for process in processes):
        return Skip(reason="changes a definition, moves no data")
    return RunLineage(application_run=run.application_run, processes=_one_each(processes))


_VERB = re.compile(r"\s*(merge|update|delete)\b", re.IGNORECASE)


def _operation(run: MergedRun, operation: Operation) -> str:
    """What the run did, where its name's node does not tell it all. A job without SQL can only write a data set whole,
    and a stream's batch only appends, whatever the root of its plan is called.
    """
    if operation.by_verb and (verb := _VERB.match(run.statement)):
        return verb[1].lower()
    if operation is UNKNOWN and (run.job_type == "RDD_JOB" or run.processing_type.upper() == STREAMING):
        return "insert"
    return operation.name


def _only_itself(process: Process) -> bool:
    """Whether it reads nothing but what it writes: older listeners say so of a job that infers a schema."""
    return bool(process.inputs) and {asset.qualified_name for asset in process.inputs} == {
        asset.qualified_name for asset in process.outputs
    }


def _why_nothing(run: MergedRun, *, written: bool) -> str:
    """`written`: whether it names an output that is no bookkeeping."""
    if not run.ended:
        return "no end was seen, and no lineage"
    if written:
        return "reads only what it writes"
    if run.outputs:
        return "writes only a writer's own bookkeeping"
    if run.inputs:
        return "reads only"
    return "an application's own event" if run.is_application else "names no data set"


class _RunTranslation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a run did, as far as all its processes share it."""

    run: MergedRun
    around: RunContext
    datasets: Datasets
    identity: JobIdentity
    formerly: JobIdentity | None
    """The generic name by which the job was known while nothing better was told, if it has one."""
    operation: str
    origin: Origin

    @property
    def schemas(self) -> dict[str, tuple[str, ...]]:
        """The columns of the run's inputs, by their assets' qualified names."""
        inputs = self.datasets.inputs
        return {
            asset.qualified_name: each.columns
            for identity, each in self.datasets.read
            if each.schema and (asset := inputs.get(identity))
        }

    def processes(self, recovered: Recovered, counts: Callable[[Process], bool]) -> list[Process]:
        """One for each output that is no noise, and one for the target that only the statement names, as far as they
        count. What does not says nothing else either: else what a run says would depend on what it has heard, and who
        only looked at a data set would take what others wrote away.
        """
        known = self.datasets.outputs
        outputs = [(output, sink) for sink, output in self.datasets.written if sink in known]
        if recovered.target:
            outputs.append((recovered.target, self.datasets.place.identity(*recovered.target.key)))
        found = [(sink, self._process(output, sink, recovered)) for output, sink in outputs]
        written = [(sink, process) for sink, process in found if counts(process)]
        superseded = [self._superseded(*each) for each in written if self.formerly and self.run.ended]
        return [*(process for _, process in written), *superseded]

    def _superseded(self, sink: Identity, written: Process) -> Process:
        """An empty word on the process that this job may have been before it was known by more than a generic name:
        once this application run is over, what older ones said there leaves.
        """
        qualified_name, name = self._name(self.formerly or self.identity, sink)
        return Process(
            qualified_name=qualified_name,
            name=name,
            operations=(),
            inputs=(),
            outputs=written.outputs,
            columns=(),
            generic_identity=True,
        )

    def _name(self, identity: JobIdentity, sink: Identity) -> tuple[str, str]:
        namespace = self.run.application.namespace if self.run.application else self.run.job.namespace
        return name_process(namespace, identity, sink, version=self.around.names.version)

    def _process(self, output: MergedDataset, sink: Identity, recovered: Recovered) -> Process:
        """What this run says about the process that writes `output`: inputs are those it names itself, those that
        column lineage names, and those that its statement names.
        """
        target = self.datasets.outputs.get(sink) or recovered.asset
        if target is None:
            raise LookupError(f"an output without an asset: {output.key}")
        named: dict[str, Asset] = {asset.qualified_name: asset for asset in self.datasets.inputs.values()}

        def resolve(namespace: str, name: str) -> Asset | None:
            asset = self.datasets.resolve(namespace, name)
            if asset:
                named.setdefault(asset.qualified_name, asset)
            return asset

        columns = column_edges(output, target, resolve, self.schemas) if output.fields or output.rows else ()
        parsed = {each.qualified_name: each for each in recovered.inputs if each.qualified_name not in named}
        named |= parsed
        alone = not named or named.keys() == {target.qualified_name}
        qualified_name, name = self._name(self.identity, sink)
        return Process(
            qualified_name=qualified_name,
            name=name,
            operations=(self.operation,),
            inputs=tuple(sorted(named.values())),
            outputs=(target,),
            columns=columns or recovered.edges(target),
            end_not_seen=self.run.ended is None,
            sourceless=sourceless(output, target, columns),
            parsed=tuple(sorted(parsed)),
            wanted=recovered.wanted,
            generic_identity=self.identity.is_generic,
            around=_read_by(self.around.batches) if alone else (),
            schemas=seen_schemas(self.datasets, {*named, target.qualified_name}),
            origin=self.origin,
        )


def _read_by(batches: Iterable[StreamBatch]) -> tuple[Asset, ...]:
    return tuple(sorted({each for batch in batches for each in batch.inputs}))


def _one_each(processes: list[Process]) -> tuple[Process, ...]:
    """Two spellings of one sink in one run are one process."""
    if len(processes) == 1:
        return tuple(processes)
    grouped: dict[str, list[Process]] = {}
    for process in processes:
        grouped.setdefault(process.qualified_name, []).append(process)
    return tuple([union(grouped[name]) for name in sorted(grouped)])
