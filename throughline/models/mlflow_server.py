"""A tracking server of MLflow: read a run, and tag it. The only module that imports MLflow, when it is used."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shared.errors import Misconfigured, ThroughlineError
from shared.secrets import text_without_secrets
from shared.texts import visible
from throughline.models.training import LoggedDataset, TrainedModel, TrainingRun

if TYPE_CHECKING:
    from mlflow import MlflowClient

_DATABRICKS = "databricks"


class MlflowError(ThroughlineError):
    """MLflow refused or did not answer; the text is its own, without secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MlflowServer:
    """A tracking server, with its registry. `host`: its authority, without user and password."""

    client: "MlflowClient"
    host: str
    version: str
    is_databricks: bool

    def run(self, run_id: str) -> TrainingRun:
        """Read a run with its data sets and models. Raises MlflowError."""
        with _reported():
            run = self.client.get_run(run_id)
            info = run.info
            inputs = run.inputs.dataset_inputs if run.inputs else ()
            return TrainingRun(
                id=info.run_id,
                store=self.host,
                experiment=self.client.get_experiment(info.experiment_id).name,
                status=info.status,
                began=_time(info.start_time),
                ended=_time(info.end_time or info.start_time),
                engine=self.version,
                datasets=tuple(
                    LoggedDataset(
                        name=entry.dataset.name,
                        digest=entry.dataset.digest,
                        source_type=entry.dataset.source_type,
                        source=entry.dataset.source,
                        schema=entry.dataset.schema or "",
                    )
                    for entry in inputs
                ),
                models=self._models(run),
            )

    def _models(self, run: Any) -> tuple[TrainedModel, ...]:
        """The versions registered from a run; without any, the models that it logged."""
        versions = self.client.search_model_versions(f"run_id='{run.info.run_id}'")
        registered = tuple(
            TrainedModel(name=version.name, version=str(version.version), description=version.description or "")
            for version in versions
        )
        if registered:
            return tuple(sorted(registered, key=lambda model: (model.name, model.version)))
        logged = run.outputs.model_outputs if run.outputs else ()
        ids = dict.fromkeys(output.model_id for output in logged)
        return tuple(
            TrainedModel(name=self.client.get_logged_model(model_id).name, version=model_id, is_registered=False)
            for model_id in ids
        )

    def tag(self, run: TrainingRun, key: str, values: Mapping[TrainedModel, str]) -> None:
        """Tag each registered model version with its value, and the run with the first one. Raises MlflowError."""
        with _reported():
            for model, value in values.items():
                if model.is_registered:
                    self.client.set_model_version_tag(model.name, model.version, key, value)
            self.client.set_tag(run.id, key, next(iter(values.values())))


def connect(tracking_uri: str) -> MlflowServer:
    """The server at this address; empty: the one that MLflow's own settings name. Raises Misconfigured without MLflow,
    and MlflowError.
    """
    try:
        import mlflow  # noqa: PLC0415 - an extra, and it takes seconds
    except ImportError as error:
        raise Misconfigured("MLflow is not installed: install `throughline[mlflow]`") from error
    with _reported():
        uri = tracking_uri or mlflow.get_tracking_uri()
        mlflow.set_tracking_uri(uri)  # else a registry in files opens the default store: a new mlflow.db, right here
        client = mlflow.MlflowClient(tracking_uri=uri)
        is_databricks = uri.partition(":")[0] == _DATABRICKS
        return MlflowServer(
            client=client,
            host=_host(uri, is_databricks=is_databricks),
            version=mlflow.__version__,
            is_databricks=is_databricks,
        )


def _host(uri: str, *, is_databricks: bool) -> str:
    """The authority of a server's address; `localhost` for a store in files."""
    if is_databricks:
        from mlflow.utils.databricks_utils import get_databricks_host_creds  # noqa: PLC0415 - as above

        uri = get_databricks_host_creds(uri).host  # type: ignore[no-untyped-call]  # it has no types
    parts = urlsplit(uri)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname}{port}" if parts.hostname else "localhost"


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


@contextmanager
def _reported() -> Iterator[None]:
    """What MLflow raises as one error on one line, without secrets: its messages quote addresses."""
    import requests  # noqa: PLC0415 - MLflow's, too
    from mlflow.exceptions import MlflowException  # noqa: PLC0415 - as above

    try:
        yield
    except (MlflowException, requests.RequestException, ImportError, OSError, ValueError) as error:
        text = str(error) if isinstance(error, MlflowException) else f"{type(error).__name__}: {error}"
        raise MlflowError(visible(text_without_secrets(" ".join(text.split())))) from None
