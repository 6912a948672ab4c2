"""`python -m tests.synth`: made-up histories of any length, in the archive's layout."""

from pathlib import Path
from typing import Annotated

import typer

from tests.synth.estate import write_estate
from tests.synth.histories import synthesize
from tests.synth.templates import NoTemplatesError
from throughline.cli.ui.console import bar, fail, out, print_json
from throughline.cli.ui.options import AsJson
from throughline.cli.ui.writing import writing

TEMPLATES = Path("tests/golden/spark35-ol1.53")


app = typer.Typer(add_completion=False)


@app.command()
def synth(
    *,
    events: Annotated[int, typer.Option("--events", "-n", min=0, metavar="N", help="Write a history of N events")] = 0,
    datasets: Annotated[
        int,
        typer.Option("--datasets", min=0, metavar="N", help="Instead of --events: write N data sets, each once"),
    ] = 0,
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="The folder to write: new or empty")],
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same bytes")] = 1,
    templates: Annotated[Path, typer.Option(metavar="FOLDER", help="The captured events to vary")] = TEMPLATES,
    as_json: AsJson = False,
) -> None:
    """Write a made-up history in the layout of the archive: for tests, and to measure the lake.

    The history has jobs that run every day, chains and stars of tables, streams, changing schemas, failures, late and
    repeated events, and one broken line in a hundred. With --datasets it has many data sets at one time, for the
    lineage page.

        python -m tests.synth --events 100000 --out build/estate
        throughline lake run build/estate --lake build/lake
        python -m tests.synth --datasets 10000 --out build/wide
    """
    if bool(events) == bool(datasets):
        fail("give either --events N or --datasets N", code=2)
    if folder.is_dir() and any(folder.iterdir()):
        fail(f"{folder} is not empty: name another folder", code=2)
    try:
        with writing(folder), bar("events", events or datasets) as update:

            def note(count: int) -> None:
                update(completed=count)

            if datasets:
                synthesis = write_estate(folder, datasets=datasets, seed=seed, note=note)
            else:
                synthesis = synthesize(folder, events=events, seed=seed, templates=templates, note=note)
    except NoTemplatesError as error:
        fail(str(error), code=2)
    if as_json:
        fields = ("events", "broken", "applications", "days", "files", "bytes")
        print_json({name: getattr(synthesis, name) for name in fields})
        return
    out.print(
        f"{synthesis.events:,} events ({synthesis.broken:,} broken) of {synthesis.applications:,} application runs "
        f"in {synthesis.days:,} days: {synthesis.files:,} files, {synthesis.bytes / 1e6:,.0f} MB"
    )


if __name__ == "__main__":
    app(prog_name="python -m tests.synth")
