"""`throughline purview`: set up a Purview account, once, as one of its administrators."""

from collections.abc import Sequence
from typing import Annotated

import typer

from shared.atlas.entities import ORIGIN_WORDS
from shared.atlas.types import MANAGED, managed_attributes
from shared.bootstrap import account_at
from shared.catalog.connection.dialect import ACCOUNT_PATH, CLOUDS, ROLES, has_role, with_role
from shared.catalog.port import Account, Collection
from shared.errors import CatalogRefused
from shared.texts import suggestion
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.ui.console import fail, note, out, plain
from throughline.cli.ui.options import NOTHING_HALF_DONE, PENDING, Plan
from throughline.cli.ui.teaching import TeachingApp

_FORBIDDEN = 403

app = TeachingApp(help="Set up a Purview account: grant roles, create managed attributes.")


def grant(
    context: typer.Context,
    *,
    collection: Annotated[
        str, typer.Option(metavar="NAME", help="The collection: its short name, or the name that the portal shows")
    ],
    principal: Annotated[str, typer.Option(metavar="ID", help="The identity's object id")],
    account: Annotated[
        str, typer.Option(metavar="NAME", help="The Purview account; default: the one in THROUGHLINE_CATALOG_ENDPOINT")
    ] = "",
    cloud: Annotated[
        str, typer.Option(metavar="CLOUD", help=f"The account's cloud: {', '.join(choice.name for choice in CLOUDS)}")
    ] = CLOUDS[0].name,
    scope: Annotated[
        str,
        typer.Option(
            metavar="SCOPE",
            envvar="THROUGHLINE_CATALOG_SCOPE",
            help="The token's scope, for a host in another cloud",
        ),
    ] = "",
    role: Annotated[str, typer.Option(metavar="ROLE", help=f"One of {', '.join(ROLES)}")] = "data-curator",
    plan: Plan = False,
    clicks: Annotated[bool, typer.Option("--clicks", help="Only print the steps in the portal")] = False,
    home: Home = HOME,
) -> None:
    """Grant an identity a role in a Purview collection: Data Curator, unless --role says otherwise.

    You must be administrator of the collection, and signed in (az login). Repeating it changes nothing.

    Exit code with --plan: 0 if the identity has the role, 3 if it lacks it.

        throughline purview grant --collection NAME --principal ID --plan
        throughline purview grant --account NAME --collection NAME --principal ID
        throughline purview grant --collection NAME --principal ID --clicks
    """
    if role not in ROLES:
        fail(f"no role {role!r}: choose one of {', '.join(ROLES)}.{suggestion(role, ROLES)}", code=2)
    if clicks:
        _print_clicks(collection, collection, principal, role)
        return
    purview = account_at(endpoint_of(account, cloud), scope=scope) if account else parts_of(context, home).account
    if purview is None:
        fail("this catalog is not a Purview account, so it has no collections. Name an account by --account", code=2)
    with reported(NOTHING_HALF_DONE):
        collection_found = _chosen(purview.collections(), collection)
        try:
            policy = purview.policy(collection_found.name)
        except CatalogRefused as refusal:
            if refusal.status != _FORBIDDEN:
                raise
            sentence = (
                f"you are no administrator of {collection_found.shown}. These are the steps for an administrator:"
            )
            note("no right", sentence)
            _print_clicks(collection_found.shown, collection_found.name, principal, role)
            raise typer.Exit(1) from None
        place = f"the {ROLES[role].lower()} of {plain(collection_found.shown)}"
        if has_role(policy, role, principal):
            out.print(f"nothing to do: {plain(principal)} is among {place}")
            return
        out.print(f"[green]+[/] {plain(principal)} to {place} ({plain(collection_found.name)})")
        if plan:
            raise typer.Exit(PENDING)
        _put(purview, collection_found, role, principal)
    out.print("granted; it takes effect within some minutes: check with `throughline doctor --catalog`")


def attributes(context: typer.Context, *, plan: Plan = False, home: Home = HOME) -> None:
    """Create the group of managed attributes that show the origin of a process in the portal.

    Each process then has platform, workspace, job and a link as managed attributes, from its next change on. Restart
    the functions: they look for the group when they start. Repeating it changes nothing. Exit code with --plan: 0 if
    the group exists, 3 if it is missing.
    """
    parts = parts_of(context, home)
    if parts.account is None or parts.types is None:
        fail("only Purview has managed attributes: in this catalog, processes have custom ones in their place", code=2)
    with reported(NOTHING_HALF_DONE):
        definitions = [definition for definition in parts.types.held() if definition["name"] == MANAGED]
        if any(held_definition["category"] != "BUSINESS_METADATA" for held_definition in definitions):
            fail(f"another type of this catalog is called {MANAGED}: rename or delete that one")
        if definitions:
            out.print(f"nothing to do: this account has the group {MANAGED}")
            return
        out.print(f"[green]+[/] the group {MANAGED} of managed attributes: {', '.join(ORIGIN_WORDS)}")
        if plan:
            raise typer.Exit(PENDING)
        parts.types.create([managed_attributes()])
    out.print("created; restart the function apps: each process carries them from its next change on")


def endpoint_of(account: str, cloud: str) -> str:
    """The Atlas endpoint of an account: by its address, its host, or its name in a cloud."""
    if "." in account or "://" in account:
        host = account.rstrip("/")
        return f"{host if '://' in host else f'https://{host}'}{ACCOUNT_PATH}"
    cloud_found = next((choice for choice in CLOUDS if choice.name == cloud), None)
    if cloud_found is None:
        fail(f"no cloud {cloud!r}: choose one of {', '.join(cloud.name for cloud in CLOUDS)}", code=2)
    return cloud_found.endpoint(account)


def _chosen(collections: Sequence[Collection], collection_name: str) -> Collection:
    """The one collection that is meant."""
    fits = [collection for collection in collections if collection.name == collection_name]
    fits = fits or [item for item in collections if item.shown.casefold() == collection_name.casefold()]
    if len(fits) == 1:
        return fits[0]
    if fits:
        names = ", ".join(collection.name for collection in fits)
        fail(f"{len(fits)} collections are shown as {collection_name!r}; name it by one of {names}")
    shown = ", ".join(f"{collection.name} ({collection.shown})" for collection in collections) or "none"
    nearest = suggestion(collection_name, [name for item in collections for name in (item.name, item.shown)])
    return fail(f"no collection {collection_name!r} in this account; visible: {shown}.{nearest}")


def _put(account: Account, collection: Collection, role: str, principal: str) -> None:
    """Grant the role, and check the result: another administrator may have changed the policy meanwhile."""
    account.put_policy(with_role(account.policy(collection.name), role, principal))
    if not has_role(account.policy(collection.name), role, principal):
        fail(
            "the account accepted the policy, but it lacks the role: another administrator may have changed it. "
            "Run the command again"
        )


def _print_clicks(shown_name: str, name: str, principal: str, role: str) -> None:
    steps = (
        "open https://purview.microsoft.com (the classic portal: https://web.purview.azure.com), and there Data Map",
        f"Domains (classic: Collections), the collection {shown_name}" + (f" ({name})" if name != shown_name else ""),
        "Role assignments",
        f"{ROLES[role]}: the sign with a person and a plus, Add",
        f"search for the identity's name or {principal}, choose it, OK",
    )
    for number, step in enumerate(steps, start=1):
        out.print(f"  {number}. {plain(step)}")


app.add("grant", grant)
app.add("attributes", attributes)
