"""`throughline purview`: what has to be done inside a Purview account, once, by one of its administrators."""

from collections.abc import Sequence
from typing import Annotated

import typer

from cli.console import fail, note, out, plain
from cli.leaving import one_sentence
from cli.target import HOME, Home, parts_of
from shared.atlas import MANAGED, ORIGIN_WORDS, managed_attributes
from shared.bootstrap import account_at
from shared.catalog import ACCOUNT_PATH, CLOUDS, ROLES, Account, Collection, has_role, with_role
from shared.errors import CatalogRefused

PENDING = 3
_FORBIDDEN = 403

app = typer.Typer(help="Do inside a Purview account what lineage needs there.", no_args_is_help=True)


@app.command("grant")
def grant(
    context: typer.Context,
    *,
    collection: Annotated[str, typer.Option(help="The collection: its name in calls, or the one that is shown")],
    principal: Annotated[
        str, typer.Option(help="Object id of the identity, as infra/deploy.sh prints it", metavar="ID")
    ],
    account: Annotated[
        str, typer.Option(help="The Purview account's name, or its address; by default the one that is set")
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
    role: Annotated[str, typer.Option(help=f"One of {', '.join(ROLES)}")] = "data-curator",
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be changed")] = False,
    clicks: Annotated[bool, typer.Option("--clicks", help="Only print what to click in the portal instead")] = False,
    home: Home = HOME,
) -> None:
    """Grant the worker's identity a role in a collection: Data Curator, unless you say otherwise.

    Whoever runs this has to be administrator of the collection, and signed in (az login). Done again it changes
    nothing. With --plan the exit code is 0 for nothing to do and 3 for something.

    \b
    throughline purview grant --account NAME --collection lineage --principal OBJECT-ID --plan
    throughline purview grant --account NAME --collection lineage --principal OBJECT-ID
    throughline purview grant --collection lineage --principal OBJECT-ID --clicks
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if role not in ROLES:
        fail(f"{role} is no role: it is one of {', '.join(ROLES)}", code=2)
    if clicks:
        _print_clicks(collection, collection, principal, role)
        return
    purview = account_at(endpoint_of(account, cloud), scope=scope) if account else parts_of(context, home).account
    if purview is None:
        fail("this catalog is no Purview account: it has no collections", code=2)
    with one_sentence():
        found = _chosen(purview.collections(), collection)
        try:
            policy = purview.policy(found.name)
        except CatalogRefused as refusal:
            if refusal.status != _FORBIDDEN:
                raise
            note("no right", f"whoever is signed in is no administrator of {found.shown}; one who is may click:")
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
    out.print("granted; Purview may take some minutes to heed it: `throughline doctor --catalog` tells")


@app.command("attributes")
def attributes(
    context: typer.Context,
    *,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be changed")] = False,
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
    return fail(f"this account has no collection {wanted!r} that we see; we see {seen}")


def _put(account: Account, collection: Collection, role: str, principal: str) -> None:
    """Give the role, and look whether it is there: another administrator may have changed the policy meanwhile."""
    account.put_policy(with_role(account.policy(collection.name), role, principal))
    if not has_role(account.policy(collection.name), role, principal):
        fail("the account took the policy, and lacks the role all the same: run it again")


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
