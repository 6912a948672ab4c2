"""`throughline explain`: the type and qualified name of a data set in the catalog, and the rules that give them."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from msgspec import structs

from shared.atlas.types import TypeChange
from shared.bootstrap import Worker
from shared.naming.matching import AssetName, Candidate, candidates, describe_rank, underivable_names
from shared.naming.names import Names, NamingExplanation, explain
from shared.naming.stores.families import RunEnvironment
from shared.naming.stores.services import split_names
from shared.publishing.resolution import Lookup
from shared.publishing.resolution import search_matches as publishing_finds
from shared.records.asset_record import AssetRecord
from throughline.cli.checks.types import in_words, mend, type_problem
from throughline.cli.context.parsed_file import TextFile, names_in
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.event_files import events_in
from throughline.cli.records.processes import key_document
from throughline.cli.ui.console import fail, note, print_json
from throughline.cli.ui.options import AsJson
from throughline.cli.ui.tables import print_fact


def explain_command(
    context: typer.Context,
    namespace: Annotated[str, typer.Argument(help="In the event, such as abfss://raw@acct.dfs.core.windows.net")],
    name: Annotated[str | None, typer.Argument(help="In the event, such as orders/day=1", show_default=False)] = None,
    *,
    workspace: Annotated[str, typer.Option(help="The Databricks workspace's host", metavar="HOST")] = "",
    mount: Annotated[
        list[str] | None, typer.Option(help="A mount of Databricks; may be repeated", metavar="POINT=SOURCE")
    ] = None,
    symlink: Annotated[
        list[str] | None, typer.Option(help="A symlink of the data set; may be repeated", metavar="NAMESPACE=NAME")
    ] = None,
    names: TextFile = None,
    look: Annotated[bool, typer.Option("--look", help="Look the names up in the catalog")] = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Show which rule gives a data set its type and qualified name, and why.

    The output also lists the names under which a scan may have found the data set, in the order of their look-up. Only
    --look calls the catalog: it shows which of these names exist there, and which one wins. Exit code 1 if this is no
    data set of a user (a log, a checkpoint).

        throughline explain file /data/orders/day=1
        throughline explain 'sqlserver://srv.database.windows.net:1433;database=db' dbo.orders
        throughline explain dbfs /mnt/raw/orders --mount /mnt/raw=abfss://raw@acct.dfs.core.windows.net/in
        throughline explain dbfs /user/hive/warehouse/t --workspace adb-1.2.azuredatabricks.net
        throughline explain s3://lake w/orders --symlink hive://metastore:9083=sales.orders --json | jq .type
        throughline explain abfss://raw@acct.dfs.core.windows.net orders --look
        throughline explain abfss://sales@onelake.dfs.fabric.microsoft.com shop.Lakehouse/Tables/t --names names.toml
    """
    if name is None:
        _refuse_without_name(namespace)
    if not namespace and not name:
        fail(f"namespace and name are empty: {_WRITE_BOTH}", code=2)
    environment = RunEnvironment(workspace=workspace, mounts=_pairs("--mount", "POINT=SOURCE", mount))
    links = _pairs("--symlink", "NAMESPACE=NAME", symlink)
    rules = names_in(names)
    parts = parts_of(context, home) if look else None
    rules = parts.names if parts and names is None else rules
    naming_explanation = explain(namespace, name, symlinks=links, environment=environment, names=rules)
    key = naming_explanation.naming.best.key
    also = underivable_names(key, [other.key for other in naming_explanation.naming.others])
    looked_up = [candidate for step in candidates(*key, also) for candidate in step]
    match = _looked_up(parts, rules, key, also, looked_up) if parts and not naming_explanation.noise else None
    rows = [(name.key, name.because, match.states[name.key] if match else "") for name in looked_up]
    if as_json:
        print_json({**_document(naming_explanation), "candidates": _row_documents(rows), **_match_document(match)})
    else:
        _show(naming_explanation)
        _print_rows("looked up as", rows)
        _show_match(match, names)
    if len(split_names(namespace, name)) > 1:
        note("several", "this name lists topics: in an event each of them is a data set")
    if naming_explanation.noise:
        raise typer.Exit(1)


_WRITE_BOTH = "write namespace and name of a data set, such as `throughline explain file /data/orders`"


def _refuse_without_name(argument: str) -> NoReturn:
    """End the command: with what to do instead where its only argument is a file of events. Raises UnreadableFileError
    for another file.
    """
    if not Path(argument).is_file():
        fail(_WRITE_BOTH, code=2)
    next(events_in(Path(argument)), None)
    fail(f"{argument} is a file: `throughline translate {shlex.quote(argument)}` names its data sets", code=2)


def _pairs(option: str, form: str, pair_texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Both sides of each. A symlink's namespace may hold an equals sign in its properties, its name never does."""
    pairs = []
    for pair_text in pair_texts or ():
        first, separator, second = pair_text.rpartition("=") if option == "--symlink" else pair_text.partition("=")
        if not separator or not first or not second:
            fail(f"{option} {pair_text}: write it as {form}", code=2)
        pairs.append((first, second))
    return tuple(pairs)


def _document(explanation: NamingExplanation) -> dict[str, Any]:
    """What `--json` prints: a stable form."""
    return {
        **structs.asdict(explanation.naming.best),
        "why": explanation.why,
        "identity": explanation.identity,
        "others": explanation.naming.others,
        "noise": explanation.noise,
    }


def _show(explanation: NamingExplanation) -> None:
    best = explanation.naming.best
    print_fact("type", best.type)
    print_fact("qualified name", best.qualified_name)
    print_fact("rule", best.rule)
    print_fact("identity", f"{explanation.identity.namespace} {explanation.identity.name}")
    print_fact("why", *explanation.why)


Row = tuple[AssetName, str, str]
"""A name, why it is looked up or found, and what the catalog has of it: empty where it was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogMatch:
    """What the catalog has under each name (`states`), the asset that wins (`found`), and the other ones that a search
    gives, best first. `problem`, where nothing is found: why the catalog refuses the first name's type, if it does.
    """

    states: Mapping[AssetName, str]
    found: AssetRecord
    searched: tuple[Row, ...]
    problem: TypeChange | None


def _looked_up(
    parts: Worker, rules: Names, key: AssetName, also: Sequence[AssetName], names: Iterable[Candidate]
) -> CatalogMatch:
    """Look the names up in the catalog; ends the command when it does not answer."""
    with reported("Nothing was looked up: without --look no catalog is needed"):
        search_matches = publishing_finds(parts.catalog, key) if parts.publishing.finding.search else ()
        match = Lookup(context=parts, names={key: tuple(also)}).records()[key]
        keys = [candidate.key for candidate in names]
        held = parts.catalog.look_up(keys)
        states = {name: "there" if name in held else "not there" for name in keys}
        states |= {name: "placeholder" for name, asset in held.items() if asset.placed}
        searched = {name: describe_rank(key, fits) for name, fits in search_matches if name not in states}
        states |= {name: "may be meant" if name in match.rivals else "there" for name in searched}
        if match.scanned and states.get(match.scanned) == "there":
            states[match.scanned] = "wins"
        return CatalogMatch(
            states=states,
            found=match,
            searched=tuple((name, because, states[name]) for name, because in searched.items()),
            problem=None if match.guid or match.rivals else type_problem(parts, rules, key[0]),
        )


def _row_documents(rows: Iterable[Row]) -> list[dict[str, str]]:
    return [
        {**key_document(name), "because": because, **({"catalog": state} if state else {})}
        for name, because, state in rows
    ]


def _match_document(match: CatalogMatch | None) -> dict[str, Any]:
    """What was looked up, for `--json`."""
    if match is None:
        return {}
    found = match.found
    return {
        "searched": _row_documents(match.searched),
        "type_problem": in_words(match.problem) if match.problem else None,
        "found": {**key_document(found.scanned), "because": found.because, "guid": found.guid}
        if found.scanned
        else None,
        "rivals": list(map(key_document, found.rivals)),
    }


def _show_match(match: CatalogMatch | None, names: Path | None) -> None:
    """Print what the catalog has, which name wins and why. `names`: the file of names that is tried."""
    if match is None:
        return
    _print_rows("search finds", match.searched)
    found = match.found
    if found.scanned:
        _print_rows("found", [(found.scanned, found.because, "")])
    for name in found.rivals:
        print_fact("ambiguous", f"{' '.join(name)} may be meant: none is chosen", style="yellow")
    if match.problem:
        print_fact("found", f"nothing, and it can't be published: {in_words(match.problem)}", style="red")
        print_fact("", mend(match.problem, names))
    elif not found.scanned and not found.rivals:
        print_fact("found", f"nothing: {'the placeholder is used' if found.guid else 'a placeholder would be created'}")


def _print_rows(title: str, rows: Iterable[Row]) -> None:
    for name, because, state in rows:
        print_fact(title, f"{' '.join(name)} ({because}) {state}".rstrip(), style=_COLOURS.get(state, ""))
        title = ""


_COLOURS = {
    "wins": "bold green",
    "there": "green",
    "not there": "dim",
    "placeholder": "yellow",
    "may be meant": "yellow",
}
