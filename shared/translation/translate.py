"""One merged run -> what it says: a process for each sink, or the reason why there is none. Pure."""

from dataclasses import dataclass
from functools import cache

from shared.model import Asset, Lineage, Process
from shared.naming import Identity, canonical, is_noise, name_dataset
from shared.openlineage import UNKNOWN, MergedDataset, MergedRun, split_job_name
from shared.translation.adding_up import union
from shared.translation.columns import column_edges
from shared.translation.identity import process_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """The run has no lineage, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """The run cannot be judged yet, and why."""

    reason: str


def translate(run: MergedRun, *, timed_out: bool = False) -> Lineage | Skip | Wait:
    """What a run says. `timed_out`: nothing came for so long that its end will not be waited for any more.

    A run counts when it ended by COMPLETE; without an end it counts after the timeout if it read and wrote.
    """
    if run.ended in {"FAIL", "ABORT"}:
        return Skip(reason="the run failed")
    if not run.ended and not timed_out:
        return Wait(reason="no end seen yet")
    sources = _Sources.of(run)
    operation = split_job_name(run.job.name, run.application.name if run.application else "")[1]
    name = "insert" if operation is UNKNOWN and run.job_type == _RDD else operation.name
    processes = tuple(
        process
        for output in run.outputs
        if not is_noise(canonical(output.namespace, output.name))
        for process in (_process(run, output, sources, name),)
        if not (operation is UNKNOWN and _only_itself(process)) and (run.ended or process.inputs)
    )
    if not processes:
        return Skip(reason=_why_nothing(run, sources))
    if not operation.moves_data and all(_only_itself(process) or not process.inputs for process in processes):
        return Skip(reason="changes a definition, moves no data")
    return Lineage(application_run=run.application_run, processes=_one_each(processes))


_RDD = "RDD_JOB"
"""The listener's word for a job without SQL: its name tells no node, and all it can do is to write a data set whole."""


def _only_itself(process: Process) -> bool:
    """Whether it reads nothing but what it writes: older listeners say so of a job that infers a schema."""
    return bool(process.inputs) and {asset.qualified_name for asset in process.inputs} == {
        asset.qualified_name for asset in process.outputs
    }


def _why_nothing(run: MergedRun, sources: "_Sources") -> str:
    if not run.ended:
        return "no end was seen, and no lineage"
    if sources.outputs:
        return "reads only what it writes"
    if run.outputs:
        return "writes only a writer's own bookkeeping"
    if run.inputs:
        return "reads only"
    return "an application's own event" if run.is_application else "names no data set"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    """The data sets that a run itself names, by their canonical identity."""

    inputs: dict[Identity, Asset]
    outputs: dict[Identity, Asset]
    folders: dict[tuple[str, str], Asset]
    """The inputs by namespace and name without a slash at its end: a store's root has an empty name."""
    lengths: tuple[int, ...]
    """Of the folders' names, each once, the longest first."""
    linked: dict[Identity, Asset]
    """By the other names that the run's data sets have: a table's in its catalog."""

    @classmethod
    def of(cls, run: MergedRun) -> "_Sources":
        inputs, outputs = _assets(run.inputs), _assets(run.outputs)
        linked = {
            canonical(*symlink): assets[canonical(*dataset.key)]
            for datasets, assets in ((run.outputs, outputs), (run.inputs, inputs))
            for dataset in datasets
            for symlink in dataset.symlinks
            if canonical(*dataset.key) in assets
        }
        inputs = {identity: linked.get(identity, asset) for identity, asset in inputs.items()}
        folders = {(identity.namespace, identity.name.rstrip("/")): asset for identity, asset in inputs.items()}
        lengths = tuple(sorted({len(name) for _, name in folders}, reverse=True))
        return cls(inputs=inputs, outputs=outputs, folders=folders, lengths=lengths, linked=linked)

    def resolve(self, namespace: str, name: str) -> Asset | None:
        """The asset of a data set that column lineage names: one of the run's own, or the nearest of its inputs that
        holds it (a glob's inputs are folders, while its columns name single files), or a new one.
        """
        identity = canonical(namespace, name)
        if is_noise(identity):
            return None
        own = self.inputs.get(identity) or self.outputs.get(identity) or self.linked.get(identity)
        return own or self._folder(identity) or _asset(namespace, name, identity)

    def _folder(self, identity: Identity) -> Asset | None:
        for length in self.lengths:
            if length == 0 or identity.name[length : length + 1] == "/":
                found = self.folders.get((identity.namespace, identity.name[:length]))
                if found:
                    return found
        return None


def _assets(datasets: tuple[MergedDataset, ...]) -> dict[Identity, Asset]:
    spellings: dict[Identity, list[MergedDataset]] = {}
    for dataset in datasets:
        identity = canonical(dataset.namespace, dataset.name)
        if not is_noise(identity):
            spellings.setdefault(identity, []).append(dataset)
    return {
        identity: _asset(
            same[0].namespace, same[0].name, identity, tuple(link for dataset in same for link in dataset.symlinks)
        )
        for identity, same in spellings.items()
    }


def _asset(namespace: str, name: str, identity: Identity, symlinks: tuple[tuple[str, str], ...] = ()) -> Asset:
    best = name_dataset(identity, symlinks).best
    return Asset(type=best.type, qualified_name=best.qualified_name, namespace=namespace, name=name)


def _process(run: MergedRun, output: MergedDataset, sources: _Sources, operation: str) -> Process:
    """What this run says about the process that writes `output`: inputs are those it names itself and those that
    column lineage names.
    """
    identity = canonical(output.namespace, output.name)
    target = sources.outputs[identity]
    named: dict[str, Asset] = {asset.qualified_name: asset for asset in sources.inputs.values()}

    @cache
    def resolve(namespace: str, name: str) -> Asset | None:
        asset = sources.resolve(namespace, name)
        if asset:
            named.setdefault(asset.qualified_name, asset)
        return asset

    columns = column_edges(output, target, resolve)
    qualified_name, name = process_name(run, identity)
    return Process(
        qualified_name=qualified_name,
        name=name,
        operations=(operation,),
        inputs=tuple(sorted(named.values())),
        outputs=(target,),
        columns=columns,
        end_not_seen=run.ended is None,
    )


def _one_each(processes: tuple[Process, ...]) -> tuple[Process, ...]:
    """Two spellings of one sink in one run are one process."""
    grouped: dict[str, list[Process]] = {}
    for process in processes:
        grouped.setdefault(process.qualified_name, []).append(process)
    return tuple(union(grouped[name]) for name in sorted(grouped))
