"""Where a deployment keeps its data, as settings: so that nothing has to be exported to look at it."""

from collections.abc import Mapping

from cli.checks.azure.accounts import accounts_of
from cli.checks.azure.deployed import Deployed
from cli.deploy.azure_cli import AzureCliError

_OF_WORKER = ("THROUGHLINE_CATALOG_ENDPOINT", "THROUGHLINE_COLLECTION")


def place_of(deployed: Deployed) -> Mapping[str, str]:
    """The settings that name the storage and the catalog of a deployment, for who is signed in here.

    Names without a value come with an empty one: they hide settings of another Throughline in the environment. Raises
    AzureCliError.
    """
    accounts = accounts_of(deployed)
    return {
        "AzureWebJobsStorage": "",
        "AzureWebJobsStorage__clientId": "",
        "THROUGHLINE_STORAGE__blobServiceUri": "",
        "THROUGHLINE_STORAGE__tableServiceUri": "",
        "AzureWebJobsStorage__blobServiceUri": accounts.endpoint(accounts.data, "blob"),
        "AzureWebJobsStorage__tableServiceUri": accounts.endpoint(accounts.data, "table"),
        **_of_catalog(deployed),
    }


def _of_catalog(deployed: Deployed) -> Mapping[str, str]:
    """From the worker's settings; where those may not be read, from the deployment's parameters."""
    wanted = ", ".join(f'"{name}"' for name in _OF_WORKER)
    try:
        found = deployed.az.json(
            *("functionapp", "config", "appsettings", "list", "--resource-group", deployed.group),
            *("--name", deployed.outputs["WORKER_NAME"]),
            *("--query", f"[?contains(`[{wanted}]`, name)].{{name: name, value: value}}"),
        )
    except AzureCliError:
        found = [
            {"name": "THROUGHLINE_CATALOG_ENDPOINT", "value": deployed.parameters.get("catalogEndpoint")},
            {"name": "THROUGHLINE_COLLECTION", "value": deployed.parameters.get("collection")},
        ]
    values = {each["name"]: str(each["value"] or "") for each in found}
    return {name: values.get(name, "") for name in _OF_WORKER}
