"""A training run as MLflow has it, without its client: what went in, and which models came out."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDataset:
    """A data set that a run logged (https://mlflow.org/docs/latest/ml/dataset/). `source` and `schema` are MLflow's
    JSON, empty where there is none; `source_type`: its word for the kind of source.
    """

    name: str
    digest: str
    source_type: str
    source: str
    schema: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """A model of a run: a version of a registered one, or one that was only logged, whose `version` is its id."""

    name: str
    version: str
    description: str = ""
    is_registered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """A run. `store`: the tracking server, as the authority of an address; `status`: MLflow's word; times in UTC."""

    id: str
    store: str
    experiment: str
    status: str
    began: datetime
    ended: datetime
    engine: str
    datasets: tuple[LoggedDataset, ...] = ()
    models: tuple[TrainedModel, ...] = ()
