"""`throughline doctor --catalog`: each step of the way to the catalog, and the command that repairs it.

Purview shows a missing role only indirectly: assets that may not be read seem not to exist, and a write is refused. So
a data set is written, read back and removed.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from cli.checks.data import UNKNOWN
from cli.checks.findings import CheckResult, bad, good
from shared.atlas.entities import AssetEntity
from shared.bootstrap import Worker
from shared.catalog.port import Account, Collection
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
_KEY = _TRIAL.key
_NO_CREDENTIALS, _FORBIDDEN = 401, 403

NETWORK, IDENTITY, ACCOUNT, COLLECTION, ROLE = (
    *("catalog network", "catalog identity", "catalog account", "collection", "catalog role"),
)

Resolve = Callable[[str], bool]


def resolves(host: str) -> bool:
    """Whether a name has an address, here."""
    try:
        socket.getaddrinfo(host, 443)
    except OSError:
        return False
    return True


def check_catalog(parts: Worker, *, resolve: Resolve = resolves) -> Iterator[CheckResult]:
    """Each step of the way to the catalog; ends with the first bad one."""
    looks = (_network(parts.account, resolve), _identity(parts.account), _collections(parts), _writing(parts))
    for look in looks:
        for finding in look:
            yield finding
            if not finding.good:
                return


def _network(account: Account | None, resolve: Resolve) -> Iterator[CheckResult]:
    """Whether the account's name has an address. Behind a proxy the proxy resolves it."""
    host = urlsplit(account.host).hostname if account else None
    if account is None or host is None:
        return
    proxy = getproxies().get(urlsplit(account.host).scheme)
    if proxy and not proxy_bypass(host):
        yield good(NETWORK, f"through the proxy {urlsplit(proxy).hostname}")
    elif resolve(host):
        yield good(NETWORK, f"{host} has an address")
    elif resolve(KNOWN):
        yield bad("catalog-name", NETWORK, f"wrong account: nothing is called {host}, though {KNOWN} has an address")
    else:
        yield bad("no-network", NETWORK, f"no network: neither {host} nor {KNOWN} has an address")


def _identity(account: Account | None) -> Iterator[CheckResult]:
    if account is None:
        return
    try:
        caller = account.caller()
    except CatalogUnavailable as error:
        yield bad("catalog-identity", IDENTITY, str(error))
        return
    claims = ", ".join(f"{word} {caller[key]}" for key, word in _CLAIMS.items() if key in caller)
    yield good(IDENTITY, claims or "a fixed token")


_CLAIMS = {
    "upn": "user",
    "unique_name": "user",
    "appid": "application",
    "oid": "object id",
    "tid": "tenant",
}


def _collections(parts: Worker) -> Iterator[CheckResult]:
    """Whether the account gives access, and has the collection that is set."""
    if parts.account is None:
        return
    try:
        found = parts.account.collections()
    except (CatalogRefused, CatalogUnavailable) as error:
        yield _refusal(parts, parts.account, error)
        return
    names = {each.name for each in found}
    if not found:
        yield bad(
            "catalog-role",
            ROLE,
            "access denied to every collection: the identity has no role",
            **_grant(parts, parts.collection),
        )
    elif parts.collection and parts.collection not in names:
        yield _wrong_collection(parts, found)
    else:
        yield good(COLLECTION, parts.collection or f"the root; visible: {_listed(found)}")


def _wrong_collection(parts: Worker, found: Sequence[Collection]) -> CheckResult:
    shown = next((each.name for each in found if each.shown == parts.collection), "")
    what = f"wrong collection: no {parts.collection} in this account; visible: {_listed(found)}"
    if shown:
        return bad("collection-wrong", COLLECTION, f"{what}; {shown} is shown as {parts.collection}", collection=shown)
    return bad("collection-wrong", COLLECTION, what, collection=found[0].name)


def _listed(found: Sequence[Collection]) -> str:
    return ", ".join(f"{each.name} ({each.shown})" for each in found[:8]) or "none"


def _refusal(parts: Worker, account: Account, error: CatalogRefused | CatalogUnavailable) -> CheckResult:
    """The finding for an account that refuses access."""
    if isinstance(error, CatalogUnavailable):
        return bad("catalog-away", ACCOUNT, f"no network: {account.host} gave no valid answer: {error}")
    if error.status == _NO_CREDENTIALS:
        what = f"wrong account: it rejects the token ({error})"
        return bad("catalog-tenant", ACCOUNT, what, tenant=UNKNOWN["tenant"])
    if error.status == _FORBIDDEN:
        return bad(
            "catalog-closed", ACCOUNT, f"access denied to every call ({error})", **_grant(parts, parts.collection)
        )
    return bad("catalog-refused", ACCOUNT, str(error))


_PURVIEW = ".purview.azure.com"


def _grant(parts: Worker, collection: str) -> dict[str, str]:
    """Account, collection and principal of a missing role, for the command that grants it."""
    account = parts.account
    host = (urlsplit(account.host).hostname or "") if account else UNKNOWN["account"]
    caller = account.caller().get("oid") if account else None
    return {
        "account": host.removesuffix(_PURVIEW) if host.endswith(_PURVIEW) or not account else account.host,
        "collection": collection or UNKNOWN["collection"],
        "principal": caller or UNKNOWN["principal"],
    }


def _writing(parts: Worker) -> Iterator[CheckResult]:
    """Write, read back, remove."""
    collection = parts.collection or _root(parts)
    try:
        created = parts.catalog.create_assets([_TRIAL])
        there = parts.catalog.find([_KEY])
        parts.catalog.remove(list(created.values()))
    except CatalogRefused as error:
        yield _unwritten(parts, collection, error)
    except CatalogUnavailable as error:
        yield bad("catalog-away", ROLE, str(error))
    else:
        if there:
            yield good(ROLE, f"can write and read{' in ' + collection if collection else ''}")
        else:
            yield bad("catalog-role", ROLE, "a written asset cannot be read back", **_grant(parts, collection))


def _unwritten(parts: Worker, collection: str, error: CatalogRefused) -> CheckResult:
    if error.status == _FORBIDDEN:
        return bad("catalog-role", ROLE, f"no role: writing is refused ({error})", **_grant(parts, collection))
    if error.status == _NO_CREDENTIALS:
        what = f"the catalog rejects the credentials ({error})"
        return bad("catalog-tenant", ROLE, what, tenant=UNKNOWN["tenant"])
    return bad("catalog-refused", ROLE, str(error))


def _root(parts: Worker) -> str:
    found = parts.account.collections() if parts.account else ()
    return next((each.name for each in found if not each.parent), "")
