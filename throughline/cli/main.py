"""The `throughline` command: its parts in groups, in the order in which `--help` lists them."""

import io
import logging
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from shared.settings.reading import reach_loopback_directly
from throughline.cli.commands.administer import config, purge, purview, reconcile, retire, types
from throughline.cli.commands.govern import check, classify
from throughline.cli.commands.lake import command as lake
from throughline.cli.commands.lineage import details, events, explain, run, search, show, status, view
from throughline.cli.commands.local import demo, send, translate, up
from throughline.cli.commands.operate import deadletter, doctor, publish, replay, shadow, verify, watch
from throughline.cli.ui.console import quiet
from throughline.cli.ui.teaching import TeachingApp

GROUPS: dict[str, dict[str, TeachingApp | Callable[..., None]]] = {
    "Try it on this machine": {
        "demo": demo.demo,
        "up": up.up,
        "translate": translate.translate,
        "explain": explain.explain_command,
    },
    "Send events": {"config": config.config, "send": send.send},
    "Look": {
        "status": status.status,
        "run": run.run,
        "events": events.events,
        "view": view.view,
        "search": search.search,
        "show": show.show,
        "details": details.details,
        "shadow": shadow.shadow,
        "doctor": doctor.doctor,
        "watch": watch.watch,
    },
    "Govern": {"classify": classify.app, "check": check.check},
    "Repair": {
        "deadletter": deadletter.app,
        "replay": replay.replay,
        "verify": verify.verify,
        "publish": publish.publish,
    },
    "Administer": {
        "types": types.app,
        "purview": purview.app,
        "reconcile": reconcile.reconcile,
        "retire": retire.retire,
        "purge": purge.purge,
    },
    "Lineage as tables": {"lake": lake.app},
}

app = TeachingApp(
    name="throughline",
    help="Column lineage from Spark's OpenLineage events into Microsoft Purview, with nothing lost.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"throughline {version('throughline')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


for _panel, _commands in GROUPS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, TeachingApp):
            app.add_typer(_command, name=_name, rich_help_panel=_panel)
        else:
            app.add(_name, _command, panel=_panel)


def main() -> None:
    """Run the command line. Characters that the terminal's encoding lacks are shown as question marks."""
    quiet()
    reach_loopback_directly()
    logging.getLogger("azure.identity").setLevel(logging.ERROR)  # it logs ten attempts; our error says what to do
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
