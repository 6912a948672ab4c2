"""The group `throughline import`."""

from throughline.cli.commands.importing.dbt import dbt
from throughline.cli.commands.importing.purview import purview
from throughline.cli.ui.teaching import TeachingApp

app = TeachingApp(help="Lineage that other tools have written down: as events, or to be replaced.")


app.add("dbt", dbt)
app.add("purview", purview)
