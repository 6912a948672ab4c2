"""The `throughline` command: one small file for each of its parts."""

import inspect
import io
import logging
import sys
from collections.abc import Callable

import typer

from cli.commands.administer import config, purge, purview, reconcile, retire, types
from cli.commands.lake import command as lake
from cli.commands.lineage import details, explain, show, status
from cli.commands.local import demo, send, synth, translate
from cli.commands.local import up as world
from cli.commands.operate import backfill, deadletter, doctor, rebuild, replay, shadow, verify

app = typer.Typer(
    name="throughline",
    help="Column lineage from Spark's OpenLineage events into Microsoft Purview, with nothing lost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "up": world.up,
    "config": config.config,
    "doctor": doctor.doctor,
    "send": send.send,
    "status": status.status,
    "show": show.show,
    "details": details.details,
    "replay": replay.replay,
    "rebuild": rebuild.rebuild,
    "backfill": backfill.backfill,
    "shadow": shadow.shadow,
    "reconcile": reconcile.reconcile,
    "retire": retire.retire,
    "purge": purge.purge,
    "verify": verify.verify,
    "translate": translate.translate,
    "explain": explain.explain_command,
    "synth": synth.synth,
}


def _help(command: Callable[..., None]) -> str:
    """A command's docstring as its help: paragraphs as wide as the terminal, examples line by line."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(text if text.startswith("\b") else text.replace("\n", " ") for text in paragraphs)


for _name, _command in _COMMANDS.items():
    app.command(_name, help=_help(_command))(_command)
app.add_typer(deadletter.app, name="deadletter")
app.add_typer(lake.app, name="lake")
app.add_typer(types.app, name="types")
app.add_typer(purview.app, name="purview")


def main() -> None:
    """Run the command line. What a terminal's encoding lacks is shown as a question mark."""
    logging.getLogger("azure.identity").setLevel(logging.ERROR)  # it tells ten ways; our sentence says what to do
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
