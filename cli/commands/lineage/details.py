"""`throughline details`: everything on our own record of a process, also what the catalog has no place for."""

from typing import Annotated

import typer

from cli.context.target import HOME, Home, away, parts_of
from cli.ui.console import fail, out, plain, print_json
from cli.ui.processes import detailed_document, process_tree
from shared.errors import StorageUnavailable
from shared.model import Process
from shared.publishing.planner import recorded as publishing_recorded
from shared.records.asset_lifecycle import states as records_states


def details(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="A part of the process's name, or of a data set's; all without it")] = "",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form")] = False,
    home: Home = HOME,
) -> None:
    """Show all that is on record of processes, also what the catalog has no place for.

    How each column comes about, what is masked or has no source, the conditions of joins and filters, and what only a
    statement told. Below it, the data sets that were dropped, renamed or emptied.

    \b
    throughline details customer_master
    throughline details --json | jq '.processes[].sourceless'
    """  # noqa: D301 - \b keeps the lines of the examples apart
    parts = parts_of(context, home)
    try:
        recorded = [process for process, _ in publishing_recorded(parts.storage, parts.publishing)]
        states = [state for state in records_states(parts.storage) if text.lower() in state.asset.name.lower()]
    except StorageUnavailable as error:
        away(error)
    found = sorted((process for process in recorded if _fits(process, text)), key=lambda each: each.qualified_name)
    if as_json:
        print_json(
            {
                "processes": [detailed_document(process) for process in found],
                "states": [
                    {
                        "qualified_name": state.asset.qualified_name,
                        "type": state.asset.type,
                        "times": {kind: at.isoformat() for kind, at in sorted(state.times.items())},
                        "became": state.became or None,
                    }
                    for state in states
                ],
            }
        )
        return
    if not found and text:
        fail(f"no process on record has {text!r} in its name or in those of its data sets")
    for process in found:
        out.print(process_tree(process))
    for state in states:
        if state.sentence:
            out.print(f"[cyan]{plain(state.asset.name)}[/]: {plain(state.sentence)}")


def _fits(process: Process, text: str) -> bool:
    names = (process.name, *(asset.name for asset in (*process.inputs, *process.outputs)))
    return any(text.lower() in name.lower() for name in names)
