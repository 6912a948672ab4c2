"""The `throughline` command: its parts in groups, in the order in which `--help` lists them."""

import io
import logging
import sys
from typing import Annotated

import typer

from shared.settings.reading import reach_loopback_directly
from throughline.cli.ui.command_table import CommandRow, LazyGroup, Panels
from throughline.cli.ui.teaching import TeachingApp


def _row(place: str, summary: str) -> CommandRow:
    return CommandRow(place=f"throughline.cli.commands.{place}", summary=summary)


GROUPS: Panels = {
    "Try it on this machine": {
        "demo": _row(
            "local.demo:demo", "Run the example jobs on real Spark with the real listener, and show their lineage."
        ),
        "up": _row("local.up:up", "Run the local world until Ctrl-C, and print how a Spark session reports to it."),
        "translate": _row("local.translate:translate", "Show the lineage that events give, without any server."),
        "explain": _row(
            "lineage.explain:explain_command", "Show which rule gives a data set its type and qualified name, and why."
        ),
    },
    "Send events": {
        "config": _row(
            "administer.config:config",
            "Print what to set on Synapse, Databricks, Fabric or this machine, so that jobs report to a receiver.",
        ),
        "send": _row(
            "local.send:send",
            "Post events to a receiver, one request for each event. Events that it has already change nothing.",
        ),
        "import": _row(
            "importing.group:app", "Lineage that other tools have written down: as events, or to be replaced."
        ),
        "link": _row("linking.mlflow:app", "Lineage between data and what other systems made of it."),
    },
    "Look": {
        "status": _row(
            "lineage.status:status", "Count every event received by its outcome: published, skipped, waiting or dead."
        ),
        "run": _row(
            "lineage.run:run",
            "Show what became of a run and why: its events, its processes, and the command that repairs it.",
        ),
        "events": _row(
            "lineage.events:events",
            "List stored events by job, time or run, in the order of their times; --save writes them to a file.",
        ),
        "view": _row(
            "lineage.view:view",
            "Show lineage as a web page: search, follow a column, see changes, masked columns and unknown sources.",
        ),
        "search": _row(
            "lineage.search:search",
            "Find data sets and columns, the best match first, as the search of `throughline view` does.",
        ),
        "mcp": _row(
            "assistants.mcp:mcp",
            "Answer an assistant's questions about lineage: a server of the Model Context Protocol (MCP) over stdio.",
        ),
        "show": _row(
            "lineage.show:show", "Show the lineage of a data set as a tree: its sources, and what is made of it."
        ),
        "details": _row(
            "lineage.details:details",
            "Show everything on record about processes, including what the catalog cannot hold.",
        ),
        "shadow": _row("operate.shadow:shadow", "List the catalog writes that shadow mode holds back."),
        "doctor": _row(
            "operate.doctor:doctor",
            "Check each part of a Throughline, and name the command that repairs what is wrong.",
        ),
        "canary": _row(
            "operate.canary:canary", "Send one real pair of events the whole way, and say how long each hop took."
        ),
        "prove": _row(
            "operate.prove:prove",
            "Try in your subscription what rests on documentation alone: each claim is proved, refuted or not run.",
        ),
        "forward": _row(
            "operate.forward:forward",
            "Show what waits for the catalogs and stores to which runs are forwarded, and have runs sent again.",
        ),
        "watch": _row(
            "operate.watch:watch",
            "Announce changes of lineage: schemas, sources, lost masks, overdue jobs, broken policies. Each "
            "change once, with who is hit.",
        ),
    },
    "Govern": {
        "classify": _row(
            "govern.classify:app",
            "Classifications that follow values and stop at masks, and glossary terms: show, explain and write "
            "them to the catalog.",
        ),
        "check": _row(
            "govern.check:check",
            "Check lineage against the policies of a rules file: a gate for pipelines and training jobs.",
        ),
        "impact": _row(
            "govern.impact:impact",
            "Show what a change of tables or columns breaks: who owns it, the policies and classifications, the way to "
            "each.",
        ),
        "report": _row(
            "govern.report:report",
            "Write down for an auditor where a class of data came from and went, what masks it, and what is not known.",
        ),
        "contract": _row("govern.contract:app", "Data contracts: what was promised, held to what runs have shown."),
        "product": _row(
            "govern.product:app", "Data products and contracts: assets in the catalog from before their first run."
        ),
    },
    "Repair": {
        "deadletter": _row(
            "operate.deadletter:app", "List events that can't be used, show why, replay or discard them."
        ),
        "replay": _row(
            "operate.replay:replay",
            "Compute lineage again from stored events, with the present code and the functions' settings; then "
            "publish.",
        ),
        "verify": _row(
            "operate.verify:verify",
            "Find damage: compare stored events with tables, tables with one another and with the catalog.",
        ),
        "publish": _row(
            "operate.publish:publish",
            "Publish what is due; with --missing also lineage on record that the catalog lacks.",
        ),
    },
    "Administer": {
        "types": _row(
            "administer.types:app",
            "Compare the catalog's types with those that lineage needs, and create what it lacks.",
        ),
        "purview": _row("administer.purview:app", "Set up a Purview account: grant roles, create managed attributes."),
        "reconcile": _row(
            "administer.reconcile:reconcile",
            "Look up all placeholders in the catalog again, and move their lineage to assets that a scan has "
            "found since.",
        ),
        "retire": _row(
            "administer.retire:retire",
            "Remove processes that no run has written for a long time from the catalog; a new run creates them again.",
        ),
        "purge": _row(
            "administer.purge:purge",
            "Remove from the catalog everything that Throughline created, its processes and placeholders, and "
            "nothing else.",
        ),
    },
    "Lineage as tables": {
        "lake": _row(
            "lake.command:app", "Lineage as Delta tables, made of the archive: coverage, impact, changes of schemas."
        ),
    },
}
"""The first paragraph of a command's docstring stands here too, so that `--help` loads no command."""


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
