"""`throughline import purview`: what the accelerator or scripts left in a catalog, and what of it can go."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from shared.bootstrap import Worker
from shared.catalog.port import MOST_GUIDS, AssetKey, batches
from throughline.accelerator.coverage import Compared, Coverage, compared
from throughline.accelerator.leftovers import placeholders, published_edges, read_leftovers
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.processes import key_document
from throughline.cli.ui.console import bar, counted, fail, listed, note, out, plain, print_json, reading_bars
from throughline.cli.ui.interrupt import end_stopped, stopping
from throughline.cli.ui.options import NOTHING_HALF_DONE, PENDING, AsJson, ListLimit, Yes, confirm

_SHOWN = 3


def purview(
    context: typer.Context,
    *,
    like: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Also processes with such a qualified name, of scripts; may be repeated"),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Remove what is covered from the catalog")] = False,
    yes: Yes = False,
    most: ListLimit = 50,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Compare what the Purview-ADB accelerator or scripts left in the catalog with our processes; --apply retires it.

    A process is covered if the catalog shows processes of ours for all its pairs of data sets and columns. Only these
    can go, with placeholders that nothing uses then; what only they have is listed, and stays. Run your jobs with the
    listener before, and stop the accelerator: else it writes its processes again. Exit code 0 if nothing can go, 3 if
    something can.

        throughline import purview
        throughline import purview --like "script://*"
        throughline import purview --apply
    """
    if as_json and apply:
        fail("--json prints a plan: leave out --apply, or leave out --json", code=2)
    parts = parts_of(context, home, writes=apply)
    if apply and parts.publishing.shadow:
        fail("shadow mode keeps all writes from the catalog: turn it off before --apply", code=2)
    with reported(NOTHING_HALF_DONE):
        results, unused, is_complete = _plan(parts, like or [])
        if as_json:
            print_json(
                {
                    "complete": is_complete,
                    "processes": list(map(_document, results)),
                    "placeholders": list(map(key_document, unused)),
                }
            )
        else:
            _show(results, unused, most, is_complete=is_complete)
        leaving = [result for result in results if result.may_go]
        if not apply:
            raise typer.Exit(PENDING if leaving else 0)
        if leaving:
            confirm(f"Remove {counted(len(leaving), 'process')} of others from the catalog?", yes=yes)
            _apply(parts, leaving, unused)


def _plan(parts: Worker, patterns: Sequence[str]) -> tuple[list[Compared], tuple[AssetKey, ...], bool]:
    """Each process that was left, compared; the placeholders that can go with those that can; whether all were read."""
    with reading_bars() as progress:
        leftovers = read_leftovers(parts.catalog, parts.storage, patterns, progress=progress)
        published = published_edges(parts.catalog, parts.storage, progress=progress)
        results = sorted(
            (compared(guid, process, published) for guid, process in leftovers.processes.items()),
            key=lambda result: (list(Coverage).index(result.coverage), result.process.qualified_name),
        )
        leaving = {result.guid for result in results if result.may_go}
        unused = placeholders(parts.catalog, leftovers.processes, leaving, parts.documents)
    return results, unused, leftovers.is_complete


def _show(results: Sequence[Compared], unused: Sequence[AssetKey], most: int, *, is_complete: bool) -> None:
    counts = Counter(result.coverage for result in results)
    total = ", ".join(f"{counts[coverage]:,} {coverage.value}" for coverage in Coverage if counts[coverage])
    out.print(f"{counted(len(results), 'process')} left by others" + (f": {total}" if total else ""))
    listed([line for result in results for line in _lines(result)], most)
    out.print(
        f"{counted(counts[Coverage.COVERED], 'process')} can go, and {counted(len(unused), 'placeholder')} with them"
    )
    listed([plain(name) for _, name in unused], most)
    if not is_complete:
        note("catalog", "it has too many processes to list all: only those around data sets on record were compared")


def _lines(result: Compared) -> list[str]:
    """A process, and the first of what it alone has."""
    links = [f"{source} → {target}" for source, target in sorted(result.uncovered.links)]
    columns = [
        f"{source}.{column} → {target}.{target_column}"
        for (source, column), (target, target_column) in sorted(result.uncovered.columns)
        if (source, target) not in result.uncovered.links
    ]
    lines = [f"{result.coverage.value}: {plain(result.process.qualified_name)}"]
    pairs = links + columns
    lines += [f"  only it has {plain(text)}" for text in pairs[:_SHOWN]]
    return [*lines, f"  and {len(pairs) - _SHOWN:,} more"] if len(pairs) > _SHOWN else lines


def _document(result: Compared) -> dict[str, object]:
    """A compared process as --json has it."""
    return {
        "guid": result.guid,
        "type": result.process.type,
        "qualified_name": result.process.qualified_name,
        "coverage": result.coverage.name.lower(),
        "uncovered": [{"from": source, "to": target} for source, target in sorted(result.uncovered.links)],
        "uncovered_columns": [
            {"from": source, "from_column": column, "to": target, "to_column": target_column}
            for (source, column), (target, target_column) in sorted(result.uncovered.columns)
        ],
    }


def _apply(parts: Worker, leaving: Sequence[Compared], unused: Sequence[AssetKey]) -> None:
    """Remove the processes that are still as they were compared, then the placeholders that nothing uses now."""
    catalog = parts.catalog
    removed = changed = number_of_placeholders = 0
    with stopping() as stop, bar("removing", len(leaving) + len(unused)) as update:
        for batch in batches(leaving, MOST_GUIDS):
            if stop.is_set():
                break
            foreign_processes = catalog.foreign_processes([result.guid for result in batch])
            unchanged_guids = [result.guid for result in batch if foreign_processes.get(result.guid) == result.process]
            catalog.remove(unchanged_guids)
            removed += len(unchanged_guids)
            changed += sum(guid not in unchanged_guids for guid in foreign_processes)
            update(advance=len(batch))
        for keys in batches(unused, MOST_GUIDS):
            if stop.is_set():
                break
            free = [key for key, links in catalog.process_links(keys).items() if not links.readers | links.writers]
            catalog.remove(sorted(catalog.find(free).values()))
            number_of_placeholders += len(free)
            update(advance=len(keys))
    out.print(f"{counted(removed, 'process')} and {counted(number_of_placeholders, 'placeholder')} removed")
    if changed:
        note("left", f"{counted(changed, 'process')} changed meanwhile: does the accelerator still run?")
    if stop.is_set():
        end_stopped("the next `throughline import purview --apply` goes on with what is left")
