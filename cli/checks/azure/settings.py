"""The settings of the apps: those that the template sets, and those that refer to a Key Vault."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cli.checks.azure.accounts import Accounts, accounts_of
from cli.checks.azure.apps import FunctionApp
from cli.checks.azure.deployed import Deployed
from cli.checks.azure.reading import WEB, listed
from cli.checks.findings import CheckResult, bad, good


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the template decides for an app."""

    deployed: Deployed
    app: FunctionApp
    accounts: Accounts

    def host(self, kind: str) -> str:
        """The end point (blob, queue, table) of the account that the app's host works with."""
        return self.accounts.endpoint(self.accounts.host_of(self.app.part), kind)

    def data(self, kind: str) -> str:
        """The same of the account with the data, where it is another one than the host's; else empty."""
        data = self.accounts.data
        return "" if self.accounts.host_of(self.app.part) == data else self.accounts.endpoint(data, kind)

    @property
    def host_id(self) -> str:
        """The host's id. An app that shares a name's beginning with its slot needs one of its own, else both stop."""
        return self.app.part if self.deployed.outputs.get("RECEIVER_SLOT") and not self.app.flex else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expected:
    """A setting of the template: its `value`; None where the app needs none, empty where any value will do.

    `secret`: the value is not read, only whether there is one.
    """

    name: str
    value: Callable[[_Wanted], str | None]
    secret: bool = False


_EXPECTED = (
    _Expected(name="AzureWebJobsStorage__blobServiceUri", value=lambda wanted: wanted.host("blob")),
    _Expected(name="AzureWebJobsStorage__queueServiceUri", value=lambda wanted: wanted.host("queue")),
    _Expected(name="AzureWebJobsStorage__tableServiceUri", value=lambda wanted: wanted.host("table")),
    _Expected(name="THROUGHLINE_STORAGE__blobServiceUri", value=lambda wanted: wanted.data("blob") or None),
    _Expected(name="THROUGHLINE_STORAGE__tableServiceUri", value=lambda wanted: wanted.data("table") or None),
    _Expected(name="AzureWebJobsStorage__credential", value=lambda _: "managedidentity"),
    _Expected(name="AzureWebJobsStorage__clientId", value=lambda wanted: wanted.app.client_id),
    _Expected(name="AzureFunctionsWebHost__hostid", value=lambda wanted: wanted.host_id or None),
    _Expected(name="APPLICATIONINSIGHTS_CONNECTION_STRING", value=lambda _: "", secret=True),
    _Expected(name="THROUGHLINE_CATALOG_ENDPOINT", value=lambda wanted: "" if wanted.app.part == "worker" else None),
    _Expected(name="FUNCTIONS_WORKER_RUNTIME", value=lambda wanted: None if wanted.app.flex else "python"),
    _Expected(name="FUNCTIONS_EXTENSION_VERSION", value=lambda wanted: None if wanted.app.flex else "~4"),
    _Expected(name="WEBSITE_RUN_FROM_PACKAGE", value=lambda wanted: None if wanted.app.flex else "1"),
)
_COMPARED = tuple(each.name for each in _EXPECTED if not each.secret)
_CONNECTION_STRING = "AzureWebJobsStorage"


def settings(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """Whether the settings are those of the template."""
    subject = f"{app.part}'s settings"
    wanted = _Wanted(deployed=deployed, app=app, accounts=accounts_of(deployed))
    names, values = _read(deployed, app)
    wrong = list(_compared(wanted, subject, names, values))
    if _CONNECTION_STRING in names:
        what = f"{_CONNECTION_STRING} is set beside the identity"
        wrong.append(bad("setting-unwanted", subject, what, **app.places, setting=_CONNECTION_STRING))
    yield from wrong
    if not wrong:
        yield good(subject, f"{len(names)} settings, those of the template as it sets them")


def _read(deployed: Deployed, app: FunctionApp) -> tuple[frozenset[str], Mapping[str, str]]:
    """The names of all settings, and the values of those that are compared, which open nothing: `az` drops the rest."""
    compared = ", ".join(f'"{name}"' for name in _COMPARED)
    found = deployed.az.json(
        *("functionapp", "config", "appsettings", "list", "--resource-group", deployed.group, "--name", app.name),
        *("--query", f"{{names: [].name, values: [?contains(`[{compared}]`, name)].{{name: name, value: value}}}}"),
    )
    return frozenset(found["names"]), {each["name"]: str(each["value"] or "") for each in found["values"]}


def _compared(wanted: _Wanted, subject: str, names: frozenset[str], values: Mapping[str, str]) -> Iterator[CheckResult]:
    places = wanted.app.places
    for each in _EXPECTED:
        value = each.value(wanted)
        if value is None:
            continue
        if each.name not in names:
            setting = f"{each.name}={value or 'VALUE'}"
            yield bad("setting-missing", subject, f"{each.name} is not set", **places, setting=setting)
        elif value and values.get(each.name, "").rstrip("/") != value.rstrip("/"):
            what = f"{each.name} is {values.get(each.name)!r}, the template sets {value!r}"
            yield bad("setting-differs", subject, what, **places, setting=f"{each.name}={value}")


_BY_STATUS = {
    "AccessToKeyVaultDenied": "secret-denied",
    "SecretNotFound": "secret-missing",
    "SecretVersionNotFound": "secret-missing",
    "VaultNotFound": "secret-missing",
}
_RESOLVED = ("Resolved", "Initialized")


def secrets(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """Whether the settings that refer to a Key Vault were resolved."""
    subject = f"{app.part}'s secrets"
    found = list(listed(deployed.az, f"{app.id}/config/configreferences/appsettings", WEB))
    for each in found:
        reference = each["properties"]
        status = str(reference.get("status", ""))
        if status in _RESOLVED:
            continue
        vault = str(reference.get("vaultName") or "VAULT")
        places = {
            **app.places,
            "vault": vault,
            "principal": app.principal,
            "scope": f"{deployed.group_id}/providers/Microsoft.KeyVault/vaults/{vault}",
        }
        what = f"{each['name']} is {status}, secret {reference.get('secretName')} in {vault}"
        yield bad(_BY_STATUS.get(status, "secret-unresolved"), subject, what, **places)
    if found and all(each["properties"].get("status") in _RESOLVED for each in found):
        yield good(subject, f"{len(found)} of Key Vault, resolved")
