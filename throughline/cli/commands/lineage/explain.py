"""`throughline explain`: the type and qualified name of a data set in the catalog, and the rules that give them."""

import shlex
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from msgspec import structs

from shared.naming.matching import candidates, underivable_names
from shared.naming.names import NamingExplanation, explain
from shared.naming.stores.families import RunEnvironment
from shared.naming.stores.services import split_names
from throughline.cli.commands.lineage.catalog_matches import looked, looked_document, show_candidates
from throughline.cli.context.parsed_file import TextFile, names_in
from throughline.cli.context.target import HOME, Home, parts_of
from throughline.cli.records.event_files import events_in
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
    steps = candidates(*key, also)
    answer = looked(parts, rules, key, also) if parts and not naming_explanation.noise else None
    if as_json:
        print_json({**_document(naming_explanation), **looked_document(steps, answer)})
    else:
        _show(naming_explanation)
        show_candidates(steps, answer, names)
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
