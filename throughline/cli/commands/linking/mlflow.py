"""`throughline link mlflow`: from the data of a training run to its model."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from throughline.cli.commands.local.send import Url, deliver, receiver
from throughline.cli.context.target import HOME, Home
from throughline.cli.records.event_files import EventFound
from throughline.cli.ui.console import note, out, plain
from throughline.cli.ui.options import Key
from throughline.cli.ui.teaching import TeachingApp
from throughline.cli.ui.writing import save_events
from throughline.models.events import LinkedRun, link
from throughline.models.mlflow_server import MlflowError, MlflowServer, connect
from throughline.models.training import TrainingRun

TAG = "throughline.lineage"
"""The tag of a run and of a model version that says where its lineage is."""
_RUN_URI = "runs:/"

app = TeachingApp(help="Lineage between data and what other systems made of it.")


def mlflow(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run that has ended, or runs:/ID")],
    *,
    tracking_uri: Annotated[
        str, typer.Option(metavar="URI", help="MLflow's server or store; default: as MLflow's own settings have it")
    ] = "",
    namespace: Annotated[
        str,
        typer.Option(
            metavar="NAMESPACE", help="Of tables that a source names alone; default: the Databricks workspace"
        ),
    ] = "",
    job_namespace: Annotated[str, typer.Option(metavar="NAMESPACE", help="Of the job, the experiment")] = "mlflow",
    page: Annotated[
        str, typer.Option(metavar="URL", help="The lineage page (LINEAGE_URL), to which MLflow's tag then points")
    ] = "",
    url: Url = "",
    key: Key = "",
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the events instead, and tag nothing")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be linked")] = False,
    home: Home = HOME,
) -> None:
    """Link a training run of MLflow: its logged data sets become inputs, its model versions outputs.

    The sources that `mlflow.log_input` recorded (Delta, Spark, files, tables, SQL) are named as Spark's events name
    them, so policies and `impact` reach from the data to the model. A tag of the run and of its model versions points
    to the lineage. The same run again changes nothing.

        throughline link mlflow 4f0c... --tracking-uri https://mlflow.example.com
        throughline link mlflow 4f0c... --tracking-uri databricks --page https://NAME.azurewebsites.net
        throughline link mlflow 4f0c... --tracking-uri sqlite:///mlflow.db --dry-run
    """
    server = connect(tracking_uri)
    training = server.run(run.removeprefix(_RUN_URI).partition("/")[0])
    tables = namespace or (f"databricks://{server.host}" if server.is_databricks else "")
    linked = link(training, job_namespace=job_namespace, tables=tables)
    place = "" if save or dry_run else receiver(url, home)
    for sentence in linked.unknown:
        note("not known", sentence)
    for name in linked.writes:
        out.print(f"{plain(' '.join(name))} ← {plain(', '.join(' '.join(input_name) for input_name in linked.reads))}")
    if save:
        save_events(linked.events, save)
    elif not dry_run:
        events = (EventFound(place=training.experiment, raw=raw) for raw in linked.events)
        deliver(events, len(linked.events), url=place, key=key)
        _tag(server, training, linked, page)


def _tag(server: MlflowServer, training: TrainingRun, linked: LinkedRun, page: str) -> None:
    """Tag the run and its models with the way to their lineage; a refusal is said, since the lineage is there."""
    values = {
        model: _way(f"{namespace}/{name}", page)
        for model, (namespace, name) in zip(training.models, linked.writes, strict=True)
    }
    try:
        server.tag(training, TAG, values)
    except MlflowError as error:
        note("tag", f"the lineage is sent, but MLflow has not taken the tag {TAG}: {error}")


def _way(qualified_name: str, page: str) -> str:
    """The address of the lineage page on a model, or the command that shows it."""
    if page:
        return f"{page.rstrip('/')}/#{urlencode({'asset': qualified_name})}"
    return f"throughline view {qualified_name}"


app.add("mlflow", mlflow)
