"""The `throughline` command: one small file for each of its parts."""

import typer

from cli import demo, details, explain, send, show, status, translate, world

app = typer.Typer(
    name="throughline",
    help="Column lineage from Spark's OpenLineage events into Microsoft Purview, with nothing lost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(demo.demo)
app.command()(world.up)
app.command()(send.send)
app.command()(status.status)
app.command()(show.show)
app.command()(details.details)
app.command()(translate.translate)
app.command("explain")(explain.explain_command)


def main() -> None:
    """Run the command line."""
    app()
