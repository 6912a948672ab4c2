"""The `throughline` command: its parts in groups, in the order in which `--help` lists them."""

import io
import logging
import sys
from typing import Annotated

import typer

from shared.settings.reading import reach_loopback_directly
from throughline.cli.ui.command_table import LazyGroup, Panels
from throughline.cli.ui.teaching import TeachingApp

GROUPS: Panels = {
    "Try it on this machine": {
        "demo": "local.demo:demo",
        "up": "local.up:up",
        "translate": "local.translate:translate",
        "explain": "lineage.explain:explain_command",
    },
    "Send events": {
        "config": "administer.config:config",
        "send": "local.send:send",
        "import": "importing.group:app",
        "link": "linking.mlflow:app",
    },
    "Look": {
        "status": "lineage.status:status",
        "run": "lineage.run:run",
        "events": "lineage.events:events",
        "view": "lineage.view:view",
        "search": "lineage.search:search",
        "mcp": "assistants.mcp:mcp",
        "show": "lineage.show:show",
        "details": "lineage.details:details",
        "shadow": "operate.shadow:shadow",
        "doctor": "operate.doctor:doctor",
        "canary": "operate.canary:canary",
        "prove": "operate.prove:prove",
        "forward": "operate.forward:forward",
        "watch": "operate.watch:watch",
    },
    "Govern": {
        "classify": "govern.classify:app",
        "check": "govern.check:check",
        "impact": "govern.impact:impact",
        "report": "govern.report:report",
        "contract": "govern.contract:app",
        "product": "govern.product:app",
    },
    "Repair": {
        "deadletter": "operate.deadletter:app",
        "replay": "operate.replay:replay",
        "verify": "operate.verify:verify",
        "publish": "operate.publish:publish",
    },
    "Administer": {
        "types": "administer.types:app",
        "purview": "administer.purview:app",
        "reconcile": "administer.reconcile:reconcile",
        "retire": "administer.removal:retire",
        "purge": "administer.removal:purge",
    },
    "Lineage as tables": {
        "lake": "lake.command:app",
    },
}


class _Commands(LazyGroup):
    panels = GROUPS


app = TeachingApp(
    name="throughline",
    group=_Commands,
    help="Which column came from where: column lineage from Spark jobs, on your machine or in Microsoft Purview.",
)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version  # noqa: PLC0415 - slow to import, and all other commands need none of it

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


def main() -> None:
    """Run the command line. Characters that the terminal's encoding lacks are shown as question marks."""
    logging.getLogger("throughline").addHandler(logging.NullHandler())  # commands say the same in fewer words
    reach_loopback_directly()
    logging.getLogger("azure.identity").setLevel(logging.ERROR)  # it logs ten attempts; our error says what to do
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
