"""`throughline details`: everything on record of a process, including what the catalog cannot hold."""

from functools import partial
from typing import Annotated, Any

import typer
from msgspec import to_builtins

from shared.model import Asset, Process
from shared.query.process_details import (
    CatalogDifference,
    SourcelessWrite,
    catalog_differences,
    columns_missing,
    sourceless_writes,
)
from shared.reading.processes import recorded_processes
from shared.records.asset_record import AssetState
from shared.records.assets import asset_states
from shared.records.ledger import Forgotten, ledger_entry
from shared.reporting.status import edge_sources
from shared.storage_layout import process_key
from shared.texts import suggestion
from throughline.cli.context.target import HOME, Home, parts_of
from throughline.cli.records.processes import detailed_document, process_tree
from throughline.cli.ui.console import counted, fail, out, plain, print_json, print_tree
from throughline.cli.ui.options import AsJson


def details(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="Part of the name of a process or data set; default: all")] = "",
    *,
    catalog: Annotated[
        bool, typer.Option("--catalog", help="Compare each process with what the catalog holds")
    ] = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Show everything on record about processes, including what the catalog cannot hold.

    For each column: how it is made, whether the listener or Spark's plan reported it, whether it is masked or has no
    source. For each process: conditions of joins and filters, inputs that only a SQL statement names, and what events
    state of its last run: parameters, the jobs before and after it, the parts of data sets that it read and wrote. At
    the end: data sets that were dropped, renamed or emptied. With --catalog also what the catalog lacks of each
    process, or has beyond it.

        throughline details customer_master
        throughline details customer_master --catalog
        throughline details --json | jq '.processes[].sourceless'
    """
    parts = parts_of(context, home)
    storage, publishing = parts.storage, parts.publishing
    records = tuple(recorded_processes(storage, publishing))
    fits = [record for record in records if any(text.lower() in name.lower() for name in _names(record.process))]
    fits.sort(key=lambda record: record.process.qualified_name)
    states = [state for state in asset_states(storage) if text.lower() in state.asset.name.lower()]
    unsourced = [] if fits or not text else list(sourceless_writes(storage, publishing, partial(_fits, text)))
    processes = [record.process for record in fits]
    stated = {record.process.qualified_name: record.facts.stated if record.facts else () for record in fits}
    sources = {process.qualified_name: edge_sources(storage, process) for process in processes}
    entries = (ledger_entry(storage, process_key(name)) for name in sources)
    forgotten = {entry.qualified_name: entry.forgotten for entry in entries if entry.forgotten.applications}
    compared = catalog_differences(storage, publishing, parts.catalog, processes) if catalog else {}
    if as_json:
        print_json(
            {
                "processes": [
                    {
                        **detailed_document(process, sources[process.qualified_name], stated[process.qualified_name]),
                        **({"catalog": compared[process.qualified_name]} if catalog else {}),
                    }
                    for process in processes
                ],
                "without_source": [_write_document(write) for write in unsourced],
                "forgotten": to_builtins(forgotten),
                "states": [_state_document(state) for state in states],
            }
        )
        return
    for write in unsourced:
        out.print(
            f"[bold]{plain(write.asset.name)}[/] [dim]{plain(write.asset.qualified_name)}[/]: no process, because"
            f" {plain(write.reason)}. `throughline run {write.run_id}` shows its last run"
        )
    if not processes and not unsourced and text:
        nearest = suggestion(text, (name for record in records for name in _names(record.process)))
        fail(
            f"no process on record has {text!r} in its name or in those of its data sets.{nearest} A run gives a"
            " process once it has ended: `throughline events --output TABLE` lists the runs that write a table. A file"
            " that pandas, open() or a shell writes is in no event, because Spark sees no write"
        )
    for process in processes:
        name = process.qualified_name
        missing = columns_missing(storage, process)
        print_tree(process_tree(process, sources[name], missing=missing, stated=stated[name]))
        if link := process.origin.link:
            out.print(f"[dim]{plain(link)}[/]")
        if earlier := forgotten.get(name):
            out.print(f"[dim]{_words_of(earlier)}[/]")
        if catalog:
            _print_difference(compared[name])
    for state in states:
        if state.sentence:
            out.print(f"[cyan]{plain(state.asset.name)}[/]: {plain(state.sentence)}")


def _print_difference(difference: CatalogDifference) -> None:
    if difference.is_same:
        out.print("[green]the catalog holds the same[/]")
    if difference.absent:
        out.print(f"[yellow]the catalog does not hold it:[/] {plain(difference.absent)}")
    for words, parts in (("lacks", difference.lacks), ("has beyond it", difference.further)):
        for part in parts:
            out.print(f"[yellow]the catalog {words}:[/] {plain(part)}", soft_wrap=True)


def _write_document(write: SourcelessWrite) -> dict[str, str]:
    return {
        "qualified_name": write.asset.qualified_name,
        "process": write.process,
        "run": write.run_id,
        "reason": write.reason,
    }


def _state_document(state: AssetState) -> dict[str, Any]:
    return {
        "qualified_name": state.asset.qualified_name,
        "type": state.asset.type,
        "times": dict(sorted(state.times.items())),
        "became": state.became or None,
    }


def _fits(text: str, asset: Asset) -> bool:
    return any(text.lower() in name.lower() for name in (asset.name, asset.qualified_name, *asset.tables))


def _words_of(forgotten: Forgotten) -> str:
    """What is not shown any more, and by which rule."""
    seen_span = forgotten.seen
    period = f", from {seen_span.first:%Y-%m-%d} to {seen_span.last:%Y-%m-%d}," if seen_span else ""
    number = counted(forgotten.applications, "earlier application")
    return f"forgotten: what {number} contributed{period}, because later ones that are closed supersede it"


def _names(process: Process) -> tuple[str, ...]:
    """Its own name, and the names and qualified names of its data sets."""
    assets = (*process.inputs, *process.outputs)
    return (process.name, *(name for asset in assets for name in (asset.name, asset.qualified_name)))
