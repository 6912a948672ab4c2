"""`throughline synth`: made-up histories of any length, in the archive's layout."""

from pathlib import Path
from typing import Annotated

import typer

from cli.ui.console import fail, out, print_json, progress_bar
from spark_pipeline.synth.histories import synthesize
from spark_pipeline.synth.templates import NoTemplatesError

TEMPLATES = Path("tests/golden/spark35-ol1.53")


def synth(
    *,
    events: Annotated[int, typer.Option("--events", "-n", min=1, help="How many events")],
    folder: Annotated[Path, typer.Option("--out", help="Where they go: a folder that is not there or empty")],
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes")] = 1,
    templates: Annotated[Path, typer.Option(help="The captured events that they are made of")] = TEMPLATES,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form")] = False,
) -> None:
    """Write a made-up history as the archive lays it: for tests, and for measuring the lake.

    Jobs that run again every day, chains and stars of tables, streams, schemas that change, failures; events that come
    twice or too late, and one line in a hundred broken.

    \b
    throughline synth --events 100000 --out build/estate
    throughline lake run build/estate --lake build/lake
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if folder.exists() and any(folder.iterdir()):
        fail(f"{folder} is not empty: name another folder", code=2)
    try:
        with progress_bar(transient=True) as bar:
            task = bar.add_task("events", total=events)
            done = synthesize(
                folder,
                events=events,
                seed=seed,
                templates=templates,
                note=lambda count: bar.update(task, completed=count),
            )
    except NoTemplatesError as error:
        fail(str(error), code=2)
    if as_json:
        fields = ("events", "broken", "applications", "days", "files", "bytes")
        print_json({name: getattr(done, name) for name in fields})
        return
    out.print(
        f"{done.events:,} events ({done.broken:,} of them broken) of {done.applications:,} application runs "
        f"in {done.days:,} days: {done.files:,} files, {done.bytes / 1e6:,.0f} MB"
    )
