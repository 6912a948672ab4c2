"""A training run as OpenLineage events: its logged data sets are inputs, its models outputs.

The job is the experiment. A model has one column, made of every column of its inputs: nobody knows which of them it
learned from. An input whose place is not known is a data set of MLflow, so that policies see it, and it is not taken
for none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

import msgspec

from shared.errors import Misconfigured
from shared.event_parts import Json, event_of, facets_of
from shared.secrets import text_without_secrets
from shared.texts import visible
from throughline.models.sources import WrongSourceError, columns_of, places_of
from throughline.models.training import LoggedDataset, TrainedModel, TrainingRun

PRODUCER = "throughline/link/mlflow"
_LISTENER = "throughline link"
_ENDS = {"FINISHED": "COMPLETE", "FAILED": "FAIL", "KILLED": "ABORT"}
"""How a run ended, by MLflow's status. Others have not ended."""
_COLUMN = "model"
_LEARNED = {"type": "DIRECT", "subtype": "AGGREGATION", "description": "", "masking": False}
"""What training does with a column: its values go into the model, as into a sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRun:
    """The events of a run; `reads`, `writes`: namespaces and names of its inputs and models; `unknown`: sentences about
    inputs whose place is not known.
    """

    reads: tuple[tuple[str, str], ...]
    writes: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]
    events: tuple[bytes, ...]


def link(run: TrainingRun, *, job_namespace: str, tables: str = "") -> LinkedRun:
    """The lineage of a run. `tables`: the namespace of tables that a source names without a place.

    Raises Misconfigured with all mistakes: a run that has not ended, has no data sets or no model, a source that can't
    be read.
    """
    inputs: list[Json] = []
    unknown: list[str] = []
    problems = list(_lacking(run))
    for dataset in run.datasets:
        try:
            places, columns = places_of(dataset, tables), columns_of(dataset)
        except WrongSourceError as error:
            problems.append(f"{_place(run, dataset)}: {error}")
            continue
        if places.unknown:
            unknown.append(
                f"{visible(dataset.name)}: {text_without_secrets(places.unknown)}; it is shown as MLflow's own"
            )
        pairs = places.datasets or ((_namespace(run), f"datasets/{text_without_secrets(dataset.name)}"),)
        with_columns = columns if len(pairs) == 1 else ()
        inputs += [_input(*pair, with_columns) for pair in pairs]
    if problems:
        raise Misconfigured("\n".join(map(visible, problems)))
    outputs = [_output(run, model, inputs) for model in run.models]
    job = {
        "namespace": job_namespace,
        "name": run.experiment,
        "facets": _facets("Job", jobType={"integration": "MLFLOW", "jobType": "TRAINING", "processingType": "BATCH"}),
    }
    times = {"START": run.began, _ENDS[run.status]: run.ended}
    events = [
        event_of(
            PRODUCER,
            "RunEvent",
            eventType=kind,
            eventTime=time.isoformat().replace("+00:00", "Z"),
            run=_run(run),
            job=job,
            inputs=inputs,
            outputs=outputs,
        )
        for kind, time in times.items()
    ]
    return LinkedRun(
        reads=_names(inputs),
        writes=_names(outputs),
        unknown=tuple(unknown),
        events=tuple(map(msgspec.json.encode, events)),
    )


def _lacking(run: TrainingRun) -> Iterator[str]:
    if run.status not in _ENDS:
        yield f"run {run.id} is {run.status}: link it when it has ended"
    if not run.datasets:
        yield f"run {run.id} has logged no data set: call mlflow.log_input() in it"
    if not run.models:
        yield f"run {run.id} has no model: log one, or register one from it"


def _place(run: TrainingRun, dataset: LoggedDataset) -> str:
    return f"run {run.id}: data set {dataset.name} ({dataset.digest})"


def _namespace(run: TrainingRun) -> str:
    return f"mlflow://{run.store}"


def _input(namespace: str, name: str, columns: tuple[tuple[str, str], ...]) -> Json:
    fields = [{"name": column, **({"type": kind} if kind else {})} for column, kind in columns]
    return {
        "namespace": namespace,
        "name": name,
        "facets": _facets("Dataset", schema={"fields": fields}) if fields else {},
    }


def _output(run: TrainingRun, model: TrainedModel, inputs: Sequence[Json]) -> Json:
    """A model, with one column that is made of all columns of the inputs."""
    input_fields = [
        {
            "namespace": dataset["namespace"],
            "name": dataset["name"],
            "field": field["name"],
            "transformations": [_LEARNED],
        }
        for dataset in inputs
        for field in dataset["facets"].get("schema", {}).get("fields", ())
    ]
    facets: Json = {"schema": {"fields": [{"name": _COLUMN, "type": "model"}]}}
    if input_fields:
        facets["columnLineage"] = {"fields": {_COLUMN: {"inputFields": input_fields}}}
    if model.description:
        facets["documentation"] = {"description": text_without_secrets(model.description)}
    name = f"models/{model.name}:{model.version}"
    return {"namespace": _namespace(run), "name": name, "facets": _facets("Dataset", **facets)}


def _run(run: TrainingRun) -> Json:
    engine = {"name": "mlflow", "version": run.engine, "openlineageAdapterVersion": _LISTENER}
    run_id = str(uuid5(NAMESPACE_URL, f"mlflow\n{run.store}\n{run.id}"))
    return {"runId": run_id, "facets": _facets("Run", processing_engine=engine)}


def _facets(carrier: str, **facets: Json) -> Json:
    return facets_of(PRODUCER, carrier, **facets)


def _names(datasets: Sequence[Json]) -> tuple[tuple[str, str], ...]:
    return tuple((dataset["namespace"], dataset["name"]) for dataset in datasets)
