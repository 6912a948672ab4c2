"""`throughline doctor --catalog`: each step of the way to the catalog, and the command that repairs it.

Purview shows a missing role only indirectly: assets that may not be read seem not to exist, and a write is refused. So
a data set is written, read back and removed.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from shared.atlas.entities import AssetEntity
from shared.bootstrap import Worker
from shared.catalog.connection.dialect import has_role
from shared.catalog.port import Account, AssetKey, Collection
from shared.errors import CatalogRefused, CatalogUnavailable
from throughline.cli.checks.findings import CheckResult, bad, good, unseen

KNOWN = "login.microsoftonline.com"
"""A name that resolves wherever there is a way to Azure at all."""

TRIAL = AssetEntity(
    type="DataSet",
    qualified_name="throughlinedoctor/trial",
    attributes=(
        ("name", "throughlinedoctor"),
        ("description", "A trial of `throughline doctor`, which removes it at once."),
    ),
)

NETWORK, IDENTITY, ACCOUNT = "catalog network", "catalog identity", "catalog account"
COLLECTION, ROLE, CONNECTION, REACH = "collection", "catalog role", "catalog connection", "scanned assets"

Resolve = Callable[[str], bool]


def resolves(host: str) -> bool:
    """Whether a name has an address, here."""
    try:
        socket.getaddrinfo(host, 443)
    except OSError:
        return False
    return True


def check_catalog(parts: Worker, *, worker: str = "", resolve: Resolve = resolves) -> Iterator[CheckResult]:
    """Each step of the way to the catalog; ends with the first bad one.

    `worker` is the object id of a deployment's worker, whose roles are then looked up; empty: we are asked ourselves.
    """
    looks = [_answered(parts, ROLE, _writing(parts), forbidden="catalog-role")]
    if account := parts.account:
        collections = _answered(parts, ACCOUNT, _collections(parts, account))
        reach = _answered(parts, REACH, _reach(parts, account, worker))
        looks = [_network(account, resolve), _identity(account), collections, *looks, reach]
    for look in looks:
        for finding in look:
            yield finding
            if not finding.good:
                return


def _network(account: Account, resolve: Resolve) -> Iterator[CheckResult]:
    """Whether the account's name has an address. Behind a proxy the proxy resolves it."""
    host = urlsplit(account.host).hostname
    if host is None:
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


def _identity(account: Account) -> Iterator[CheckResult]:
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


def _collections(parts: Worker, account: Account) -> Iterator[CheckResult]:
    """Whether the account gives access, and has the collection that is set."""
    collections = account.collections()
    if not collections:
        problem = "access denied to every collection: the identity has no role"
        yield bad("catalog-role", ROLE, problem, **_grant(parts, parts.collection))
    elif parts.collection and all(collection.name != parts.collection for collection in collections):
        yield _wrong_collection(parts, collections)
    else:
        yield good(COLLECTION, parts.collection or f"the root; visible: {_listed(collections)}")


def _wrong_collection(parts: Worker, collections: Sequence[Collection]) -> CheckResult:
    name_of_shown = next((collection.name for collection in collections if collection.shown == parts.collection), "")
    problem = f"wrong collection: no {parts.collection} in this account; visible: {_listed(collections)}"
    if name_of_shown:
        problem += f"; {name_of_shown} is shown as {parts.collection}"
    return bad("collection-wrong", COLLECTION, problem, collection=name_of_shown or collections[0].name)


def _listed(collections: Sequence[Collection]) -> str:
    return ", ".join(f"{collection.name} ({collection.shown})" for collection in collections[:8])


_FORBIDDEN = 403
_REFUSALS = {401: "the catalog rejects the credentials", 403: "access denied"}


def _answered(
    parts: Worker, subject: str, look: Iterator[CheckResult], *, forbidden: str = "catalog-closed"
) -> Iterator[CheckResult]:
    """The findings of a look, and one for a call that the catalog refused or did not answer. `forbidden` is the rule
    for HTTP 403.
    """
    try:
        yield from look
    except CatalogUnavailable as error:
        yield bad("catalog-identity" if str(error).startswith("No token") else "catalog-away", subject, str(error))
    except CatalogRefused as error:
        code = {401: "catalog-tenant", 403: forbidden}.get(error.status, "catalog-refused")
        problem = f"{_REFUSALS[error.status]} ({error})" if error.status in _REFUSALS else str(error)
        yield bad(code, subject, problem, **_grant(parts, parts.collection))


_PURVIEW = ".purview.azure.com"


def _grant(parts: Worker, collection: str) -> dict[str, str]:
    """What is known of account, collection and principal, for the command that grants a missing role."""
    grant_places = {"collection": collection}
    if parts.account:
        host = urlsplit(parts.account.host).hostname or ""
        grant_places["account"] = host.removesuffix(_PURVIEW) if host.endswith(_PURVIEW) else parts.account.host
        grant_places["principal"] = parts.account.caller().get("oid", "")
    return {name: value for name, value in grant_places.items() if value}


def _writing(parts: Worker) -> Iterator[CheckResult]:
    """Write, read back, remove."""
    collection = parts.collection or _root(parts)
    created = parts.catalog.create_assets([TRIAL])
    trial_guids = parts.catalog.find([TRIAL.key])
    parts.catalog.remove(list(created.values()))
    if trial_guids:
        yield good(ROLE, f"can write and read{' in ' + collection if collection else ''}")
    else:
        yield bad("catalog-role", ROLE, "a written asset cannot be read back", **_grant(parts, collection))


def _root(parts: Worker) -> str:
    collections = parts.account.collections() if parts.account else ()
    return next((collection.name for collection in collections if not collection.parent), "")


def _reach(parts: Worker, account: Account, worker: str) -> Iterator[CheckResult]:
    """Whether scanned assets of all collections can be found: what may not be read seems not to exist."""
    collections = account.collections()
    root = next((collection for collection in collections if not collection.parent), None)
    if worker:
        yield _reach_of_worker(parts, account, root, worker)
    elif root:
        yield good(REACH, f"sees the root, {root.shown}, and all below it")
    else:
        names = {collection.name for collection in collections}
        upper_collection = next((collection.parent for collection in collections if collection.parent not in names), "")
        problem = f"sees {_listed(collections)}, but not {upper_collection} above"
        yield bad("catalog-narrow", REACH, problem, **_grant(parts, upper_collection))


def _reach_of_worker(parts: Worker, account: Account, root: Collection | None, worker: str) -> CheckResult:
    """The finding about the worker's own roles, which administrators of collections may see."""
    places = {**_grant(parts, root.name if root else ""), "principal": worker}
    places.setdefault("collection", places.get("account", "COLLECTION"))  # the root has the account's name
    try:
        policy = account.policy(root.name) if root else None
    except CatalogRefused as error:
        if error.status != _FORBIDDEN:
            raise
        policy = None
    if policy is None:
        return unseen("catalog-roles-hidden", REACH, "you may not see who has roles in the root", **places)
    if any(has_role(policy, role, worker) for role in ("purview-reader", "data-curator")):
        return good(REACH, "the worker may read the root, and all below it")
    return bad("catalog-narrow", REACH, f"the worker {worker} has no role in the root", **places)


_NOWHERE: AssetKey = ("azure_datalake_gen2_path", "https://throughlinedoctor.dfs.core.windows.net/doctor/nowhere")


def check_connection(parts: Worker) -> Iterator[CheckResult]:
    """Whether the catalog answers a call; `check_catalog` checks more."""

    def look() -> Iterator[CheckResult]:
        parts.catalog.find([_NOWHERE])
        yield good(CONNECTION, "answers")

    return _answered(parts, CONNECTION, look())
