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
    collection: Annotated[str, typer.Option(help="The collection, by its short name or the one shown", metavar="NAME")],
    principal: Annotated[str, typer.Option(help="The identity's object id", metavar="ID")],
    account: Annotated[
        str, typer.Option(help="The Purview account, by name or address; else the one that is set", metavar="NAME")
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
    purview = account_at(_endpoint(account)) if account else parts_of(context, home).account
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
