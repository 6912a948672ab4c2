"""The group `throughline import`."""

from throughline.cli.commands.importing.dbt import dbt
from throughline.cli.ui.teaching import TeachingApp

app = TeachingApp(help="Lineage that other tools have written down, as events.")


@app.callback()
def _group() -> None:
    pass


app.add("dbt", dbt)
