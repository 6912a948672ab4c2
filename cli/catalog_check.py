"""`throughline doctor --catalog`: what exactly stands between us and the catalog, and what to do about it.

Purview tells a missing role only sideways: what may not be read is not there, and a write is refused. So a data set is
written, read back and removed.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from cli.trial import Step
from shared.atlas import AssetEntity
from shared.bootstrap import Worker
from shared.catalog import Account, Collection
from shared.errors import CatalogRefused, CatalogUnavailable

KNOWN = "login.microsoftonline.com"
"""A name that resolves wherever there is a way to Azure at all."""

_TRIAL = AssetEntity(
    type="DataSet",
    qualified_name="throughlinedoctor/trial",
    attributes=(
        ("name", "throughlinedoctor"),
        ("description", "A trial of `throughline doctor`, which removes it at once."),
    ),
)
_KEY = (_TRIAL.type, _TRIAL.qualified_name)
_NO_CREDENTIALS, _FORBIDDEN = 401, 403

Resolve = Callable[[str], bool]


def resolves(host: str) -> bool:
    """Whether a name leads to an address, here."""
    try:
        socket.getaddrinfo(host, 443)
    except OSError:
        return False
    return True


def check_catalog(parts: Worker, *, resolve: Resolve = resolves) -> Iterator[Step]:
    """Each part of the way to the catalog; ends with the first that is bad."""
    looks = (_network(parts.account, resolve), _identity(parts.account), _collections(parts), _writing(parts))
    for look in looks:
        for step in look:
            yield step
            if not step.good:
                return


def _bad(name: str, found: str, advice: str) -> Step:
    return Step(name=name, good=False, found=found, advice=advice)


def _network(account: Account | None, resolve: Resolve) -> Iterator[Step]:
    """Whether the account's name leads anywhere. Behind a proxy that is the proxy's matter."""
    host = urlsplit(account.host).hostname if account else None
    if account is None or host is None:
        return
    proxy = getproxies().get(urlsplit(account.host).scheme)
    if proxy and not proxy_bypass(host):
        yield Step(name="network", good=True, found=f"through the proxy {urlsplit(proxy).hostname}")
    elif resolve(host):
        yield Step(name="network", good=True, found=f"{host} has an address")
    elif resolve(KNOWN):
        yield _bad(
            "network",
            f"wrong account: nothing is called {host}, though {KNOWN} has an address",
            "is the account's name in THROUGHLINE_CATALOG_ENDPOINT right? With private end points: is the private DNS "
            "zone privatelink.purview.azure.com linked to this network?",
        )
    else:
        yield _bad(
            "network",
            f"no network: neither {host} nor {KNOWN} has an address",
            "is there a way out of this network, or is HTTPS_PROXY missing?",
        )


def _identity(account: Account | None) -> Iterator[Step]:
    if account is None:
        return
    try:
        caller = account.caller()
    except CatalogUnavailable as error:
        yield _bad(
            "identity",
            str(error),
            "sign in (`az login`), set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET of a service principal,"
            " or give the app a managed identity (AzureWebJobsStorage__clientId names a user-assigned one)",
        )
        return
    told = ", ".join(f"{word} {caller[key]}" for key, word in _CLAIMS.items() if key in caller)
    yield Step(name="identity", good=True, found=told or "a fixed token")


_CLAIMS = {
    "upn": "user",
    "unique_name": "user",
    "appid": "application",
    "oid": "object id",
    "tid": "tenant",
}


def _collections(parts: Worker) -> Iterator[Step]:
    """Whether the account takes us at all, and has the collection that is set."""
    if parts.account is None:
        return
    try:
        found = parts.account.collections()
    except (CatalogRefused, CatalogUnavailable) as error:
        yield _unlike(parts.account, error)
        return
    names = {each.name for each in found}
    if not found:
        where = parts.collection or "(the one of your lineage)"
        yield _bad("role", "no role: this account shows us no collection", _grant(parts, where))
        return
    if parts.collection and parts.collection not in names:
        shown = next((each.name for each in found if each.shown == parts.collection), "")
        yield _bad(
            "collection",
            f"wrong collection: we see no {parts.collection} in this account; we see {_listed(found)}",
            f"THROUGHLINE_COLLECTION={shown} is the name of what is shown as {parts.collection}"
            if shown
            else f"set THROUGHLINE_COLLECTION to one of them, or {_grant(parts, parts.collection)}",
        )
        return
    yield Step(name="collection", good=True, found=parts.collection or f"the root; we see {_listed(found)}")


def _listed(found: Sequence[Collection]) -> str:
    return ", ".join(f"{each.name} ({each.shown})" for each in found[:8]) or "none"


def _unlike(account: Account, error: CatalogRefused | CatalogUnavailable) -> Step:
    """What an account that does not take us says."""
    if isinstance(error, CatalogUnavailable):
        return _bad(
            "account",
            f"no network: {account.host} did not answer as it should: {error}",
            "does its firewall let this network in (Purview account, Networking), or is a private end point needed?",
        )
    if error.status == _NO_CREDENTIALS:
        return _bad(
            "account",
            f"wrong account: it does not take our token ({error})",
            "does the account belong to another tenant than the one that we signed in to?",
        )
    if error.status == _FORBIDDEN:
        return _bad(
            "account",
            f"it lets us in nowhere ({error})",
            "does its firewall let this network in, and have we any role in one of its collections?",
        )
    return _bad("account", str(error), "is THROUGHLINE_CATALOG_ENDPOINT the address of a Purview account?")


def _grant(parts: Worker, collection: str) -> str:
    principal = parts.account.caller().get("oid", "OBJECT-ID") if parts.account else "OBJECT-ID"
    return (
        f"grant Data Curator to {principal} in the collection {collection}: a collection administrator runs "
        f"`throughline purview grant --collection {collection} --principal {principal}`"
    )


def _writing(parts: Worker) -> Iterator[Step]:
    """Write, read back, remove."""
    collection = parts.collection or _root(parts)
    try:
        created = parts.catalog.create_assets([_TRIAL])
        there = parts.catalog.find([_KEY])
        parts.catalog.remove(list(created.values()))
    except CatalogRefused as error:
        if error.status == _FORBIDDEN:
            yield _bad("role", f"no role: writing is refused ({error})", _grant(parts, collection))
        elif error.status == _NO_CREDENTIALS:
            yield _bad("role", f"the catalog does not take our credentials ({error})", "which token, user or password?")
        else:
            yield _bad(
                "role",
                str(error),
                "is THROUGHLINE_CATALOG_ENDPOINT right, and does it lack types (`throughline types plan`)?",
            )
        return
    except CatalogUnavailable as error:
        yield _bad("role", str(error), "try again in a minute; is THROUGHLINE_CATALOG_ENDPOINT right?")
        return
    if not there:
        yield _bad("role", "what we write we can't read", _grant(parts, collection))
        return
    yield Step(name="role", good=True, found=f"we write and read{' in ' + collection if collection else ''}")


def _root(parts: Worker) -> str:
    found = parts.account.collections() if parts.account else ()
    return next((each.name for each in found if not each.parent), "")
