"""`throughline purview`: what has to be done inside a Purview account, once, by a collection administrator."""

from collections.abc import Sequence
from typing import Annotated

import typer

from cli.console import fail, note, out, plain
from cli.leaving import one_sentence
from cli.target import HOME, Home, parts_of
from shared.bootstrap import account_at
from shared.catalog import ROLES, Account, Collection, has_role, with_role
from shared.errors import CatalogRefused

PENDING = 3
_FORBIDDEN = 403

app = typer.Typer(help="Do inside a Purview account what lineage needs there.", no_args_is_help=True)


@app.callback()
def _of_purview() -> None:
    """Have `grant` be a command of its own although it is the only one."""


@app.command("grant")
def grant(
    context: typer.Context,
    *,
    collection: Annotated[str, typer.Option(help="The collection: its name in calls, or the one that is shown")],
    principal: Annotated[
        str, typer.Option(help="Object id of the identity, as `python3 -m cli.deploy` prints it", metavar="ID")
    ],
    account: Annotated[
        str, typer.Option(help="The Purview account's name, or its address; by default the one that is set")
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
    purview = account_at(_endpoint(account)) if account else parts_of(context, home).account
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


def _endpoint(account: str) -> str:
    host = account.rstrip("/") if "://" in account else f"https://{account}.purview.azure.com"
    return f"{host}/datamap/api/atlas/v2"


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
