"""One OpenLineage event that says what a run did, under resolved names: all inputs, outputs and columns. Pure.

Follows the OpenLineage specification 2-0-2 and its facets. Data sets have their canonical names, mounts resolved.
A job is named as the listener names it, with its stable identity in place of the application's name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import msgspec

from shared.event_parts import Json, event_of, facets_of
from shared.lineage.dataset_facts import job_of
from shared.model import ColumnEdge, Declared, EdgeKind, Process, Span
from shared.naming.names import canonical
from shared.naming.stores.families import NO_ENVIRONMENT, Identity, RunEnvironment
from shared.openlineage.selection import UNKNOWN, split_job_name
from shared.storage_layout import digest_of
from shared.translation.process.union import ALL_ROWS

PRODUCER = "throughline/forward"
_facets = partial(facets_of, PRODUCER, "Dataset")

JobKey = tuple[str, str]
"""A job's namespace and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """What is known of a run that is sent: its id, how it ended (`type` of the event), the `span` of its events, the
    name of its job as it came, the processes to which it contributes (none: it was withdrawn), and its environment.
    """

    run_id: str
    type: str
    span: Span
    job_name: str
    processes: tuple[Process, ...] = ()
    environment: RunEnvironment = NO_ENVIRONMENT

    @property
    def job(self) -> JobKey | None:
        """The job, by the identity in its processes' names; None without a process."""
        if not self.processes:
            return None
        namespace, identity = job_of(self.processes[0].qualified_name)
        application, operation = split_job_name(self.job_name)
        node = self.job_name[len(application) :].lstrip(".") if operation is not UNKNOWN else ""
        return namespace, f"{identity}.{node}" if node else identity


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContent:
    """An event of a run without its times: the same for the same content. `parts`: of the event's JSON."""

    run: EndedRun
    job: JobKey
    parts: Json

    @property
    def digest(self) -> str:
        """32 hexadecimal digits: the same for the same content."""
        return digest_of(msgspec.json.encode([self.run.type, self.job, self.parts], order="deterministic"))

    @property
    def body(self) -> bytes:
        """The event as JSON."""
        return msgspec.json.encode(
            event_of(
                PRODUCER,
                "RunEvent",
                eventType=self.run.type,
                eventTime=_time(self.run.span.last),
                run={"runId": self.run.run_id, "facets": _times(self.run.span)},
                job={"namespace": self.job[0], "name": self.job[1]},
                **self.parts,
            )
        )


def run_content(run: EndedRun, job: JobKey, *, explicit: bool = False) -> RunContent:
    """The content of a run of this job. `explicit`: with the facet `lineage`, which says what feeds which output."""
    names = _Names(run)
    inputs = sorted({asset.qualified_name for process in run.processes for asset in process.inputs})
    outputs = sorted({asset.qualified_name for process in run.processes for asset in process.outputs})
    parts = {
        "inputs": [names.dataset(name) for name in inputs],
        "outputs": [names.dataset(name, _lineage_of(run, name, names, explicit=explicit)) for name in outputs],
    }
    return RunContent(run=run, job=job, parts=parts)


class _Names:
    """The data sets of a run by qualified name: their identities, and the facets that describe them."""

    def __init__(self, run: EndedRun) -> None:
        assets = (asset for process in run.processes for asset in (*process.inputs, *process.outputs))
        self._identities = {
            asset.qualified_name: canonical(asset.namespace, asset.name, run.environment) for asset in assets
        }
        self._facets: dict[str, Json] = {}
        for process in run.processes:
            for described in process.schemas:
                facets = self._facets.setdefault(described.qualified_name, {})
                if described.columns:
                    facets |= _facets(schema={"fields": [_field(*column) for column in described.columns]})
                facets |= _declared(described.declared)

    def identity(self, name: str) -> Json:
        """Namespace and name; those of a name that no data set has are the name itself."""
        identity = self._identities.get(name) or Identity(namespace="unknown", name=name)
        return {"namespace": identity.namespace, "name": identity.name or "/"}

    def dataset(self, name: str, lineage: Mapping[str, Json] | None = None) -> Json:
        """A data set with its facets."""
        return {**self.identity(name), "facets": {**self._facets.get(name, {}), **(lineage or {})}}


def _lineage_of(run: EndedRun, output: str, names: _Names, *, explicit: bool) -> Json:
    """The facets that say what feeds an output."""
    processes = [process for process in run.processes if any(sink.qualified_name == output for sink in process.outputs)]
    by_column: dict[str, list[Json]] = {}
    for process in processes:
        for edge in process.columns:
            if edge.output.qualified_name == output:
                source = {**names.identity(edge.input.qualified_name), "field": edge.input.column}
                by_column.setdefault(edge.output.column, []).append({**source, "transformations": _steps(edge)})
    rows = by_column.pop(ALL_ROWS, [])
    facets: Json = {}
    if by_column or rows:
        fields = {column: {"inputFields": sources} for column, sources in sorted(by_column.items())}
        facets |= _facets(columnLineage={"fields": fields, **({"dataset": rows} if rows else {})})
    if explicit:
        sources = sorted({asset.qualified_name for process in processes for asset in process.inputs})
        inputs: list[Json] = [{"type": "DATASET", **names.identity(name)} for name in sources]
        inputs += [{"type": "DATASET", **source} for source in rows]
        columns = {
            column: {"inputs": [{"type": "DATASET", **source} for source in fed]}
            for column, fed in sorted(by_column.items())
        }
        facets |= _facets(lineage={"inputs": inputs, **({"fields": columns} if columns else {})})
    return facets


def _steps(edge: ColumnEdge) -> list[Json]:
    """The transformations of an edge. Its expressions stand at the first: which step each is of is not known."""
    kind = "DIRECT" if edge.kind is EdgeKind.DIRECT else "INDIRECT"
    steps = [
        {"type": kind, **({"subtype": step_name} if step_name else {}), "masking": edge.masked}
        for step_name in (edge.how or ("",))
    ]
    if edge.expressions:
        steps[0]["description"] = "; ".join(edge.expressions)
    return steps


def _declared(declared: Declared) -> Json:
    """What events declare of a data set, as facets."""
    facets: Json = {}
    if declared.description:
        facets["documentation"] = {"description": declared.description}
    if declared.owner:
        facets["ownership"] = {"owners": [{"name": name} for name in declared.owner.split(", ")]}
    return _facets(**facets)


def _field(name: str, kind: str) -> Json:
    return {"name": name, "type": kind} if kind else {"name": name}


def _times(span: Span) -> Json:
    """When the run was: one event alone has no start."""
    times = {"nominalStartTime": _time(span.first), "nominalEndTime": _time(span.last)}
    return facets_of(PRODUCER, "Run", nominalTime=times)


def _time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def dataset_names(processes: Iterable[Process]) -> Iterator[str]:
    """The names of all data sets of these processes by which a rule may choose them."""
    for process in processes:
        for asset in (*process.inputs, *process.outputs):
            yield asset.qualified_name
            yield asset.name
