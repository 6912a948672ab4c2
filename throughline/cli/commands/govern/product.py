"""`throughline product`: what contracts promise, in the catalog from before the first run."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from shared.bootstrap import Worker
from shared.classifying.planning import ClassificationPlan, create_terms
from shared.classifying.planning import apply as apply_terms
from shared.records.asset_record import AssetRecord
from shared.texts import visible
from throughline.cli.commands.lineage.document_source import judged_lineage
from throughline.cli.context.parsed_file import parsed_files
from throughline.cli.context.target import HOME, Home, of_catalog, parts_of, reported
from throughline.cli.records.processes import key_document
from throughline.cli.ui.console import bar, counted, fail, listed, note, out, plain, print_json
from throughline.cli.ui.options import PENDING, AsJson, ListLimit, Plan, refuse_json_without_plan
from throughline.cli.ui.teaching import TeachingApp
from throughline.contracts.reading import Contract
from throughline.products.naming import PromisedAsset, promised_assets, twice_promised
from throughline.products.reading import Product, parse_promises, promises_of
from throughline.products.registration import JudgedLineage, Registration, planned, register, remove_withdrawn
from throughline.products.terms import has_terms, new_terms, planned_terms

_GO_ON = "What was done is on record: run the command again to go on"

app = TeachingApp(help="Data products and contracts: assets in the catalog from before their first run.")


def apply(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Contracts; or data products and their contracts")],
    *,
    server: Annotated[str, typer.Option(metavar="NAME", help="The contracts' server that is meant, of several")] = "",
    lake: Annotated[str, typer.Option(metavar="FOLDER", help="Judge promises by the lake instead of the record")] = "",
    onto_scanned: Annotated[
        bool, typer.Option("--onto-scanned", help="Glossary terms also on assets that scans of the catalog found")
    ] = False,
    plan: Plan = False,
    most: ListLimit = 50,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Put what contracts promise into the catalog: assets with columns, owner, glossary terms and status PENDING.

    Reads the Open Data Contract Standard 3.0 to 3.2 and the Open Data Product Standard 0.9 to 1.x. The first completed
    run that writes such an asset makes it ACTIVE; while a promise is broken it is DEGRADED. Repeat the command to have
    all promises judged again: it writes what has changed, and nothing else. Assets that a scan found are left alone.
    With --plan exit code 0 if nothing is to be changed, 3 if something is.

        throughline product apply orders.odcs.yaml --plan
        throughline product apply orders.odcs.yaml --server production
        throughline product apply product.odps.yaml contracts/*.odcs.yaml
    """
    refuse_json_without_plan(as_json=as_json, plan=plan)
    files_read = parsed_files(files, parse_promises)
    parts = parts_of(context, home, writes=not plan)
    promises = _promises(files_read, parts, server)
    lineage = JudgedLineage.of(*judged_lineage(context, home, lake))
    with reported(_GO_ON):
        registration = planned(parts, promises, lineage)
        lacking = new_terms(of_catalog(parts.terms, "has no glossary"), promises) if has_terms(promises) else ()
        terms = _planned_terms(parts, promises, registration.promised, onto_scanned=onto_scanned)
        if as_json:
            print_json(_document(registration, terms, lacking))
        elif plan:
            _show(registration, terms, lacking, most)
        if plan:
            has_changes = registration.has_changes or lacking or any(term_plan.has_changes for term_plan in terms)
            raise typer.Exit(PENDING if has_changes else 0)
        if parts.publishing.shadow:
            note("shadow mode", "the catalog stays as it is: apply again when it is off")
            return
        refused = _apply(parts, promises, lineage, registration, lacking, onto_scanned=onto_scanned, most=most)
    if refused:
        raise typer.Exit(1)


def _apply(
    parts: Worker,
    promises: list[PromisedAsset],
    lineage: JudgedLineage,
    registration: Registration,
    lacking: tuple[str, ...],
    *,
    onto_scanned: bool,
    most: int,
) -> bool:
    """Apply: whether the catalog refused something."""
    total = len(registration.create) + len(registration.change) + len(registration.withdraw)
    with bar("promised assets", total) as update:
        registered = register(parts, promises, lineage, lambda number: update(advance=number))
    if lacking and parts.terms:
        create_terms(parts.terms, lacking)
    terms = _planned_terms(parts, promises, registered.records, onto_scanned=onto_scanned)
    for term_plan in terms:
        if parts.classifications and parts.terms:
            apply_terms(term_plan, parts.classifications, parts.storage, terms=parts.terms)
    removed = remove_withdrawn(parts, registered.registration)
    _show(registered.registration, terms, lacking, most, is_done=True)
    if removed:
        out.print(f"{counted(removed, 'placeholder')} removed")
    for name, reason in registered.refused.items():
        note("refused", f"{name}: {reason}")
    return bool(registered.refused)


def _promises(files_read: Sequence[Contract | Product], parts: Worker, server: str) -> list[PromisedAsset]:
    """The promised assets; ends the command with all mistakes in the files."""
    promises = promises_of(files_read, parts.names, server=server)
    promised: list[PromisedAsset] = []
    problems: list[str] = []
    for contract in promises.contracts:
        assets, mistakes = promised_assets(contract, parts.names, server=server)
        promised += assets
        problems += mistakes
    problems += twice_promised(promised)
    if problems:
        fail("\n".join(map(visible, problems)), code=2)
    for sentence in promises.unused:
        note("left", sentence)
    return promised


def _planned_terms(
    parts: Worker, promises: list[PromisedAsset], records: Iterable[AssetRecord], *, onto_scanned: bool
) -> tuple[ClassificationPlan, ...]:
    if parts.terms is None:
        return ()
    return planned_terms(parts.terms, parts.storage, promises, records, onto_scanned=onto_scanned)


def _show(
    registration: Registration,
    terms: Iterable[ClassificationPlan],
    lacking: tuple[str, ...],
    most: int,
    *,
    is_done: bool = False,
) -> None:
    lines = [f"[green]+[/] {_line(record)}" for record in registration.create]
    lines += [f"[yellow]~[/] {_line(record)}" for record in registration.change]
    lines += [f"[red]-[/] {plain(record.own[1])}" for record in registration.withdraw]
    lines += [f"= {_line(record)}" for record in (*registration.keep, *registration.scanned)]
    listed(lines, most)
    tense = "" if is_done else "to be "
    out.print(
        f"{counted(len(registration.create), 'asset')} {tense}created, {len(registration.change):,} {tense}changed,"
        f" {len(registration.withdraw):,} {tense}withdrawn"
    )
    for term_plan in terms:
        for sign, marks in (("[green]+[/]", term_plan.attach), ("[red]-[/]", term_plan.detach)):
            listed([f"{sign} [bold]{plain(mark.name)}[/] {plain(mark.qualified_name)}" for mark in marks], most)
    if lacking:
        out.print(f"{counted(len(lacking), 'term')} {tense}created: {plain(', '.join(lacking))}")
    scanned = sum(len(term_plan.scanned) for term_plan in terms)
    reasons = (
        (len(registration.scanned), "asset", "found by a scan: its columns, owner and description are left alone"),
        (len(registration.others), "asset", "promised by another contract already"),
        (scanned, "term", "on scanned assets, which are left alone: --onto-scanned includes them"),
        (sum(len(term_plan.absent) for term_plan in terms), "term", "on columns that the catalog does not have"),
    )
    for number, noun, reason in reasons:
        if number:
            note("left", f"{counted(number, noun)} {reason}")


def _line(record: AssetRecord) -> str:
    promise = record.promise_now
    broken = f" ({', '.join(promise.broken)})" if promise and promise.broken else ""
    return f"[bold]{promise.status if promise else ''}[/] {plain(record.key[1])}{plain(broken)}"


def _document(
    registration: Registration, terms: Iterable[ClassificationPlan], lacking: tuple[str, ...]
) -> dict[str, Any]:
    def listed_records(records: Iterable[AssetRecord]) -> list[dict[str, Any]]:
        return [
            {**key_document(record.key), **({"status": now.status, "broken": list(now.broken)} if now else {})}
            for record in records
            for now in [record.promise_now]
        ]

    names = ("create", "change", "keep", "scanned", "others", "withdraw")
    return {
        **{name: listed_records(getattr(registration, name)) for name in names},
        **{
            f"terms_{name}": [
                {"term": mark.name, "type": mark.type, "qualified_name": mark.qualified_name}
                for term_plan in terms
                for mark in getattr(term_plan, name)
            ]
            for name in ("attach", "detach")
        },
        "new_terms": list(lacking),
    }


app.add("apply", apply)
