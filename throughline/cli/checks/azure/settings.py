"""The settings of the apps: those of the template, those that refer to a Key Vault, and where the data is."""

from collections.abc import Collection, Iterator, Mapping

from throughline.cli.checks.azure.apps import LINEAGE, FunctionApp, parts_of
from throughline.cli.checks.azure.deployed import Deployed, accounts_of
from throughline.cli.checks.azure.reading import WEB, listed
from throughline.cli.checks.findings import CheckResult, bad, good
from throughline.cli.deploy.azure_cli import AzureCliError

_CONNECTION_STRING = "AzureWebJobsStorage"
_HOST_ID = "AzureFunctionsWebHost__hostid"


def settings(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """Whether the settings are those of the template, also in the receiver's slot: a swap brings them to production."""
    slot = deployed.outputs.get("RECEIVER_SLOT", "") if app.part == "receiver" else ""
    expected = _expected(deployed, app)
    yield from _compared(deployed, app, expected, f"{app.part}'s settings", "")
    if slot:
        in_slot = expected | {_HOST_ID: f"receiver-{slot}"}
        yield from _compared(deployed, app, in_slot, f"{app.part}'s settings in slot {slot}", slot)


def _compared(
    deployed: Deployed, app: FunctionApp, expected: Mapping[str, str], subject: str, slot: str
) -> Iterator[CheckResult]:
    names, values = _read(deployed, app.name, [name for name, value in expected.items() if value], slot)
    wrong = []
    for name, value in expected.items():
        if name not in names:
            wrong.append(bad("setting-missing", subject, f"{name} is not set", **app.places))
        elif value and values.get(name, "").rstrip("/") != value.rstrip("/"):
            problem = f"{name} is {values.get(name)!r}, the template sets {value!r}"
            wrong.append(bad("setting-differs", subject, problem, **app.places))
    if _CONNECTION_STRING in names:
        wrong.append(bad("setting-unwanted", subject, f"{_CONNECTION_STRING} is set beside the identity", **app.places))
    yield from wrong or [good(subject, f"{len(names)} settings, those of the template as it sets them")]


def _expected(deployed: Deployed, app: FunctionApp) -> dict[str, str]:
    """The settings that the template gives an app; empty where any value will do, which is not read then."""
    accounts = accounts_of(deployed)
    host, data = accounts.host_of(app.part), accounts.data
    expected_settings = {
        "AzureWebJobsStorage__blobServiceUri": accounts.endpoint(host, "blob"),
        "AzureWebJobsStorage__queueServiceUri": accounts.endpoint(host, "queue"),
        "AzureWebJobsStorage__tableServiceUri": accounts.endpoint(host, "table"),
        "AzureWebJobsStorage__credential": "managedidentity",
        "AzureWebJobsStorage__clientId": app.client_id,
        "APPLICATIONINSIGHTS_CONNECTION_STRING": "",
    }
    if host != data:
        expected_settings["THROUGHLINE_STORAGE__blobServiceUri"] = accounts.endpoint(data, "blob")
        expected_settings["THROUGHLINE_STORAGE__tableServiceUri"] = accounts.endpoint(data, "table")
    if app.part == "worker":
        expected_settings["THROUGHLINE_CATALOG_ENDPOINT"] = ""
        if LINEAGE in parts_of(deployed):
            expected_settings["THROUGHLINE_DOCUMENT"] = "true"
    if app.part == LINEAGE:
        expected_settings["AzureWebJobsDisableHomepage"] = "true"
    if not app.flex:
        expected_settings |= {"FUNCTIONS_WORKER_RUNTIME": "python", "FUNCTIONS_EXTENSION_VERSION": "~4"}
        expected_settings["WEBSITE_RUN_FROM_PACKAGE"] = "1"
        if deployed.outputs.get("RECEIVER_SLOT"):  # an app whose name begins as its slot's needs an id, else both stop
            expected_settings[_HOST_ID] = app.part
    return expected_settings


def _read(
    deployed: Deployed, app: str, names: Collection[str], slot: str = ""
) -> tuple[frozenset[str], Mapping[str, str]]:
    """The names of all settings of an app, and the values of these `names`, which open nothing: `az` drops the rest."""
    quoted_names = ", ".join(f'"{name}"' for name in names)
    app_settings = deployed.az.json(
        *("functionapp", "config", "appsettings", "list", "--resource-group", deployed.group, "--name", app),
        *(("--slot", slot) if slot else ()),
        *("--query", f"{{names: [].name, values: [?contains(`[{quoted_names}]`, name)].{{name: name, value: value}}}}"),
    )
    values = {setting["name"]: str(setting["value"] or "") for setting in app_settings["values"]}
    return frozenset(app_settings["names"]), values


_OF_CATALOG = {"THROUGHLINE_CATALOG_ENDPOINT": "catalogEndpoint", "THROUGHLINE_COLLECTION": "collection"}
"""The worker's settings that name the catalog, and the parameters of the deployment that give them."""


def place_of(deployed: Deployed) -> Mapping[str, str]:
    """The settings that name the storage and the catalog of a deployment, for who is signed in here.

    Names without a value come with an empty one: they hide settings of another Throughline in the environment. Raises
    AzureCliError.
    """
    accounts = accounts_of(deployed)
    try:
        _, values = _read(deployed, deployed.outputs["WORKER_NAME"], _OF_CATALOG)
    except AzureCliError:  # the parameters may be shown to who may not see settings
        values = {name: str(deployed.parameters.get(parameter) or "") for name, parameter in _OF_CATALOG.items()}
    return {
        "AzureWebJobsStorage": "",
        "AzureWebJobsStorage__clientId": "",
        "THROUGHLINE_STORAGE__blobServiceUri": "",
        "THROUGHLINE_STORAGE__tableServiceUri": "",
        "AzureWebJobsStorage__blobServiceUri": accounts.endpoint(accounts.data, "blob"),
        "AzureWebJobsStorage__tableServiceUri": accounts.endpoint(accounts.data, "table"),
        **{name: values.get(name, "") for name in _OF_CATALOG},
    }


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
    references = list(listed(deployed.az, f"{app.id}/config/configreferences/appsettings", WEB))
    wrong = []
    for reference in references:
        facts = reference["properties"]
        status, vault = str(facts.get("status", "")), str(facts.get("vaultName") or "VAULT")
        if status not in _RESOLVED:
            scope = deployed.resource(f"Microsoft.KeyVault/vaults/{vault}")
            places = {**app.places, "vault": vault, "principal": app.principal, "scope": scope}
            problem = f"{reference['name']} is {status}, secret {facts.get('secretName')} in {vault}"
            wrong.append(bad(_BY_STATUS.get(status, "secret-unresolved"), subject, problem, **places))
    if references:
        yield from wrong or [good(subject, f"{len(references)} of Key Vault, resolved")]
