"""`throughline purview`: what has to be done inside a Purview account, once, by one of its administrators."""

from collections.abc import Sequence
from typing import Annotated

import typer

from cli.context.target import HOME, Home, parts_of
from cli.ui.console import fail, note, out, plain
from cli.ui.removal import one_sentence
from shared.atlas.managed import MANAGED, ORIGIN_WORDS, managed_attributes
from shared.bootstrap import account_at
from shared.catalog.clouds import ACCOUNT_PATH, CLOUDS
from shared.catalog.policies import ROLES, has_role, with_role
from shared.catalog.port import Account, Collection
from shared.errors import CatalogRefused

PENDING = 3
_FORBIDDEN = 403

app = typer.Typer(help="Do inside a Purview account what lineage needs there.", no_args_is_help=True)


@app.command("grant")
def grant(
    context: typer.Context,
    *,
    collection: Annotated[str, typer.Option(help="The collection, by its short name or the one shown", metavar="NAME")],
    principal: Annotated[str, typer.Option(help="The identity's object id", metavar="ID")],
    account: Annotated[
        str, typer.Option(help="The Purview account, by name or address; else the one that is set", metavar="NAME")
    ] = "",
    cloud: Annotated[
        str, typer.Option(help=f"With an account's name, its cloud: {', '.join(each.name for each in CLOUDS)}")
    ] = CLOUDS[0].name,
    scope: Annotated[
        str,
        typer.Option(
            envvar="THROUGHLINE_CATALOG_SCOPE", help="For what a token is asked, where no cloud has that host"
        ),
    ] = "",
    role: Annotated[str, typer.Option(help=f"One of {', '.join(ROLES)}", metavar="ROLE")] = "data-curator",
    plan: Annotated[bool, typer.Option("--plan", help="Only show what would change")] = False,
    clicks: Annotated[bool, typer.Option("--clicks", help="Only print the steps in the portal")] = False,
    home: Home = HOME,
) -> None:
    """Grant an identity a role in a Purview collection: Data Curator, unless --role says otherwise.

    You must be administrator of the collection, and signed in (az login). Repeating it changes nothing.

    \b
    Exit code with --plan: 0 nothing to do, 3 a role is missing.

    \b
    throughline purview grant --collection NAME --principal ID --plan
    throughline purview grant --account NAME --collection NAME --principal ID
    throughline purview grant --collection NAME --principal ID --clicks
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if role not in ROLES:
        fail(f"{role} is no role; the roles are {', '.join(ROLES)}", code=2)
    if clicks:
        _print_clicks(collection, collection, principal, role)
        return
    purview = account_at(endpoint_of(account, cloud), scope=scope) if account else parts_of(context, home).account
    if purview is None:
        fail("this catalog is no Purview account, so it has no collections. Name one by --account", code=2)
    with one_sentence():
        found = _chosen(purview.collections(), collection)
        try:
            policy = purview.policy(found.name)
        except CatalogRefused as refusal:
            if refusal.status != _FORBIDDEN:
                raise
            note("no right", f"you are no administrator of {found.shown}; an administrator can click:")
            _print_clicks(found.shown, found.name, principal, role)
            raise typer.Exit(1) from None
        if has_role(policy, role, principal):
            out.print(f"nothing to do: {plain(principal)} is among the {ROLES[role].lower()} of {plain(found.shown)}")
            return
        out.print(
            f"[green]+[/] {plain(principal)} to the {ROLES[role].lower()} of {plain(found.shown)} ({plain(found.name)})"
        )
        if plan:
            raise typer.Exit(PENDING)
        _put(purview, found, role, principal)
    out.print("granted; it takes effect within some minutes: check with `throughline doctor --catalog`")


@app.command("attributes")
def attributes(
    context: typer.Context,
    *,
    plan: Annotated[bool, typer.Option("--plan", help="Only show what would change")] = False,
    home: Home = HOME,
) -> None:
    """Create the group of managed attributes in which the portal shows where a process's job is at home.

    With it, processes carry platform, workspace, job and a link as managed attributes from their next change on; the
    functions look for the group when they start. Done again it changes nothing. With --plan the exit code is 0 for
    nothing to do and 3 for something.
    """
    parts = parts_of(context, home)
    if parts.account is None or parts.types is None:
        fail("this catalog is no Purview account: processes carry the same as a user's properties there", code=2)
    with one_sentence():
        held = [each for each in parts.types.held() if each["name"] == MANAGED]
        if any(each["category"] != "BUSINESS_METADATA" for each in held):
            fail(f"another type of this catalog is called {MANAGED}: rename or delete that one")
        if held:
            out.print(f"nothing to do: this account has the group {MANAGED}")
            return
        out.print(f"[green]+[/] the group {MANAGED} of managed attributes: {', '.join(ORIGIN_WORDS)}")
        if plan:
            raise typer.Exit(PENDING)
        parts.types.create([managed_attributes()])
    out.print("created; restart the function apps: each process carries them from its next change on")


def endpoint_of(account: str, cloud: str) -> str:
    """The Atlas end point of an account: by its address, its host, or its name in a cloud."""
    if "." in account or "://" in account:
        host = account.rstrip("/")
        return f"{host if '://' in host else f'https://{host}'}{ACCOUNT_PATH}"
    found = next((each for each in CLOUDS if each.name == cloud), None)
    if found is None:
        fail(f"no cloud {cloud!r}: there are {', '.join(each.name for each in CLOUDS)}", code=2)
    return found.endpoint(account)


def _chosen(found: Sequence[Collection], wanted: str) -> Collection:
    """The one collection that is meant."""
    for fits in (
        [each for each in found if each.name == wanted],
        [each for each in found if each.shown.casefold() == wanted.casefold()],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            fail(
                f"{len(fits)} collections are shown as {wanted!r}; name it by one of {', '.join(e.name for e in fits)}"
            )
    seen = ", ".join(f"{each.name} ({each.shown})" for each in found) or "none"
    return fail(f"no collection {wanted!r} in this account; we see {seen}")


def _put(account: Account, collection: Collection, role: str, principal: str) -> None:
    """Give the role, and look whether it is there: another administrator may have changed the policy meanwhile."""
    account.put_policy(with_role(account.policy(collection.name), role, principal))
    if not has_role(account.policy(collection.name), role, principal):
        fail(
            "the account took the policy, but the role is not in it: another administrator may have changed it. "
            "Run it again"
        )


def _print_clicks(shown: str, name: str, principal: str, role: str) -> None:
    steps = (
        "open https://purview.microsoft.com (the classic portal: https://web.purview.azure.com), and there Data Map",
        f"Domains (classic: Collections), the collection {shown}" + (f" ({name})" if name != shown else ""),
        "Role assignments",
        f"{ROLES[role]}: the sign with a person and a plus, Add",
        f"search for the identity's name or {principal}, choose it, OK",
    )
    for number, step in enumerate(steps, start=1):
        out.print(f"  {number}. {plain(step)}")
