"""Decode an event with invalid parts: keep the valid ones, list the paths of the others.

Each part is decoded by itself from its raw bytes, and unused ones are skipped, so a huge plan beside a bad facet costs
nothing extra.
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder

from shared.openlineage.shapes.base import Wire
from shared.openlineage.shapes.bounds import is_crowded
from shared.openlineage.wire import (
    Dataset,
    DatasetEvent,
    DatasetFacets,
    Envelope,
    InputFacets,
    Job,
    JobEvent,
    JobFacets,
    JobName,
    OutputFacets,
    Run,
    RunEvent,
    RunFacets,
)

Declared = JobEvent | DatasetEvent
"""Events without a run: OpenLineage's static lineage."""

_MAX_OMITTED = 1000
"""Paths listed; further ones are only counted."""

T = TypeVar("T")
F = TypeVar("F", bound=Wire)


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """An event of any class, and the paths of its omitted parts."""

    event: RunEvent | Declared
    omitted: tuple[str, ...]


class _Holder(Wire, frozen=True):
    """Anything with facets, as raw bytes; a data set has three kinds."""

    facets: Raw | UnsetType = UNSET
    input_facets: Raw | UnsetType = UNSET
    output_facets: Raw | UnsetType = UNSET


class _Parts(Wire, frozen=True):
    """An event's parts, as bytes."""

    run: _Holder | None = None
    job: _Holder | None = None
    dataset: _Holder | None = None
    inputs: Raw | UnsetType = UNSET
    outputs: Raw | UnsetType = UNSET


def _attempt(reader: Decoder[T], raw: Raw) -> T | UnsetType:
    """Decode a part; UNSET if it is invalid."""
    try:
        return reader.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UNSET


def _built(reader: Decoder[T], raw: Raw) -> T | UnsetType:
    """Decode a part that may grow in memory: UNSET also if it holds too many values."""
    if is_crowded(raw):
        return UNSET
    return _attempt(reader, raw)


class _Facets(Generic[F]):
    """Decodes the facets of one kind: all at once, else one by one."""

    def __init__(self, kind: type[F]) -> None:
        fields = msgspec.structs.fields(kind)
        parts = [
            (field.name, Raw | UnsetType, msgspec.field(name=field.encode_name, default=UNSET)) for field in fields
        ]
        self._kind = kind
        self._all: Decoder[F | None] = Decoder(kind | None)
        self._parts: Decoder[Struct] = Decoder(msgspec.defstruct(f"Parts{kind.__name__}", parts))
        self._each = [(field.name, field.encode_name, Decoder[Any](field.type)) for field in fields]

    def fitting(self, raw: Raw | UnsetType, path: str, omitted: list[str]) -> F | None:
        """The valid facets; None if there are none."""
        if isinstance(raw, UnsetType):
            return None
        whole = _built(self._all, raw)
        if not isinstance(whole, UnsetType):
            return whole
        parts = _attempt(self._parts, raw)
        if isinstance(parts, UnsetType):
            omitted.append(path)
            return None
        found: dict[str, Any] = {}
        for name, written, reader in self._each:
            part = getattr(parts, name)
            if part is UNSET:
                continue
            fits = _built(reader, part)
            if isinstance(fits, UnsetType):
                omitted.append(f"{path}.{written}")
            else:
                found[name] = fits
        return self._kind(**found)


_of_run, _of_job, _of_dataset = _Facets(RunFacets), _Facets(JobFacets), _Facets(DatasetFacets)
_of_input, _of_output = _Facets(InputFacets), _Facets(OutputFacets)
_parts = Decoder(_Parts)
_datasets_whole = Decoder(tuple[Dataset, ...] | None)
_datasets_apart = Decoder(list[Raw])
_dataset_whole, _dataset_name, _dataset_holder = Decoder(Dataset), Decoder(JobName), Decoder(_Holder)
_NOTHING = _Holder()


def salvage(raw: bytes, envelope: Envelope) -> Salvaged:
    """The valid parts of the event that `envelope` identifies: a run event, a job event or a data set event."""
    omitted: list[str] = []
    parts = _parts.decode(raw)
    event: RunEvent | Declared
    if envelope.job:
        facets = _of_job.fitting((parts.job or _NOTHING).facets, "job.facets", omitted)
        job = Job(namespace=envelope.job.namespace, name=envelope.job.name, facets=facets)
        event = _about_job(envelope, job, parts, omitted)
    else:
        name = envelope.dataset or JobName(namespace="", name="")
        dataset = _with_facets(name, parts.dataset or _NOTHING, "dataset", omitted)
        event = DatasetEvent(event_time=envelope.event_time, dataset=dataset)
    if len(omitted) > _MAX_OMITTED:
        omitted[_MAX_OMITTED:] = [f"and {len(omitted) - _MAX_OMITTED} more"]
    return Salvaged(event=event, omitted=tuple(omitted))


def _about_job(envelope: Envelope, job: Job, parts: _Parts, omitted: list[str]) -> RunEvent | JobEvent:
    facets = _of_run.fitting((parts.run or _NOTHING).facets, "run.facets", omitted) if envelope.run else None
    inputs = _datasets(parts.inputs, "inputs", omitted)
    outputs = _datasets(parts.outputs, "outputs", omitted)
    if envelope.run is None:
        return JobEvent(event_time=envelope.event_time, job=job, inputs=inputs, outputs=outputs)
    run = Run(run_id=envelope.run.run_id, facets=facets)
    return RunEvent(
        event_time=envelope.event_time,
        event_type=envelope.event_type,
        run=run,
        job=job,
        inputs=inputs,
        outputs=outputs,
    )


def _datasets(raw: Raw | UnsetType, path: str, omitted: list[str]) -> tuple[Dataset, ...]:
    """The valid data sets: decoded all at once, else one by one."""
    if isinstance(raw, UnsetType):
        return ()
    whole = _built(_datasets_whole, raw)
    if not isinstance(whole, UnsetType):
        return whole or ()
    apart = _built(_datasets_apart, raw)
    if isinstance(apart, UnsetType):
        omitted.append(path)
        return ()
    found = (_dataset(part, f"{path}[{index}]", omitted) for index, part in enumerate(apart))
    return tuple(dataset for dataset in found if dataset)


def _dataset(raw: Raw, path: str, omitted: list[str]) -> Dataset | None:
    whole = _built(_dataset_whole, raw)
    if not isinstance(whole, UnsetType):
        return whole
    name, holder = _attempt(_dataset_name, raw), _attempt(_dataset_holder, raw)
    if isinstance(name, UnsetType) or isinstance(holder, UnsetType):
        omitted.append(path)
        return None
    return _with_facets(name, holder, path, omitted)


def _with_facets(name: JobName, holder: _Holder, path: str, omitted: list[str]) -> Dataset:
    return Dataset(
        namespace=name.namespace,
        name=name.name,
        facets=_of_dataset.fitting(holder.facets, f"{path}.facets", omitted),
        input_facets=_of_input.fitting(holder.input_facets, f"{path}.inputFacets", omitted),
        output_facets=_of_output.fitting(holder.output_facets, f"{path}.outputFacets", omitted),
    )
