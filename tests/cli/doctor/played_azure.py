"""A deployment in Azure as `az` shows it, healthy until a case changes something. It stands in for AzureCli.

Shapes: Resource Manager's JSON by its API reference, `az`'s own by its source (2.91.0). Errors have the text of `az`:
`(Code) text` from its commands, `Reason({"error": …})` from `az rest`. Only reading commands are answered.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import jmespath

from throughline.cli.checks.azure.apps import FUNCTIONS
from throughline.cli.deploy.azure_cli import AzureCliError

SUBSCRIPTION = "00000000-0000-0000-0000-0000000000aa"
GROUP = "rg-lineage"
BASE = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}"
ACCOUNTS = f"{BASE}/providers/Microsoft.Storage/storageAccounts"
STORAGE = f"{ACCOUNTS}/stlineage"
RECEIVER_STORAGE = f"{ACCOUNTS}/streclineage"
TOPIC = f"{BASE}/providers/Microsoft.EventGrid/systemTopics/evgt-lineage"
EVENTS = f"{TOPIC}/eventSubscriptions/events"
INSIGHTS = f"{BASE}/providers/Microsoft.Insights"
ACTION_GROUP = f"{INSIGHTS}/actionGroups/ag-lineage"
LINEAGE_STORAGE = f"{ACCOUNTS}/stlinlineage"
RECEIVER, WORKER, LINEAGE = "func-receiver-x", "func-worker-x", "func-lineage-x"
SITES = {name: f"{BASE}/providers/Microsoft.Web/sites/{name}" for name in (RECEIVER, WORKER)}
PAGE = f"{BASE}/providers/Microsoft.Web/sites/{LINEAGE}"
PRINCIPALS = {
    RECEIVER: "11111111-0000-4000-8000-000000000001",
    WORKER: "11111111-0000-4000-8000-000000000002",
    LINEAGE: "11111111-0000-4000-8000-000000000003",
}
SECRET = "never-to-be-shown"  # noqa: S105 - planted, to see that nothing shows it

OFF = {RECEIVER: FUNCTIONS[1:], WORKER: FUNCTIONS[:1]}
ROLES = json.loads((Path(__file__).parents[3] / "infra/roles.json").read_text())


@dataclass(slots=True, kw_only=True)
class PlayedAzure:
    """The content of a subscription: `resources` by path, `settings` by app, and what the other commands count.

    `failing` has a pattern over the command for each failing call, with the error that `az` gives.
    """

    resources: dict[str, Any]
    settings: dict[str, dict[str, str]]
    roles: dict[str, list[dict[str, str]]]
    outputs: dict[str, str]
    parameters: dict[str, Any]
    rows: list[list[Any]]
    metrics: dict[str, float] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    groups: dict[str, str] = field(default_factory=lambda: {SUBSCRIPTION: GROUP})
    poison: int = 0
    failing: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    answered: list[tuple[tuple[str, ...], Any]] = field(default_factory=list)

    def json(self, *arguments: str) -> Any:
        """The parsed output of `az`."""
        self.calls.append(arguments)
        command = " ".join(arguments)
        for pattern, error in self.failing.items():
            if re.search(pattern, command):
                raise cli_error(error, *arguments)
        for begin, answer in self._answers().items():
            if command.startswith(begin):
                options = dict(pairwise(arguments))
                full_answer = json.loads(json.dumps(answer({**options, "all": command})))
                self.answered.append((arguments, full_answer))
                return jmespath.search(options["--query"], full_answer) if "--query" in options else full_answer
        raise AssertionError(f"no command that only reads: az {command}")

    def _answers(self) -> dict[str, Callable[[dict[str, str]], Any]]:
        return {
            "account show": lambda _: {
                "id": SUBSCRIPTION,
                "name": "Production",
                "environmentName": "AzureCloud",
                "user": {"name": "ann@example.com", "type": "user"},
            },
            "account list": lambda _: [
                {
                    "id": subscription_id,
                    "name": f"Subscription {subscription_id[-2:]}",
                    "isDefault": subscription_id == SUBSCRIPTION,
                }
                for subscription_id in {SUBSCRIPTION: "", **self.groups}
            ],
            "group show": self._group,
            "deployment group list": lambda _: [*self.records, *self._newest()],
            "rest --method get": lambda options: self._get(options["--url"]),
            "rest --method post --resource https://api.loganalytics.io": lambda _: {
                "tables": [
                    {"name": "PrimaryResult", "columns": [{"name": column} for column in COLUMNS], "rows": self.rows}
                ]
            },
            "functionapp config appsettings list": self._settings,
            "role assignment list": lambda options: self.roles.get(options["--assignee"], []),
            "monitor metrics list": lambda options: {
                "value": [
                    {"name": {"value": name}, "timeseries": [{"data": [{"total": value}, {"timeStamp": "x"}]}]}
                    for name, value in self.metrics.items()
                    if name in options["all"]
                ]
            },
            "storage queue exists": lambda _: {"exists": self.poison > 0},
            "storage message peek": lambda options: [{"id": "m"}] * min(self.poison, int(options["--num-messages"])),
        }

    def _group(self, options: dict[str, str]) -> Any:
        name = options["--name"]
        if self.groups.get(SUBSCRIPTION) != name:
            raise cli_error(f"(ResourceGroupNotFound) Resource group '{name}' could not be found.")
        return {"id": BASE, "name": name, "properties": {"provisioningState": "Succeeded"}}

    def _newest(self) -> list[dict[str, Any]]:
        """The newest deployment, as azd names it, and one of its modules; none where `parameters` are empty."""
        module = deployment("storage-abc", "2026-11-20T10:00:30", {"name": "stlineage"}, {})
        main_deployment = deployment("lineage-1763632800", "2026-11-20T10:01:00", self.parameters, self.outputs)
        return [module, main_deployment] if self.parameters else [module]

    def _get(self, url: str) -> Any:
        path = url.partition("?")[0]
        other = re.fullmatch(r"/subscriptions/([^/]+)/resourceGroups/([^/]+)", path)
        if other and self.groups.get(other[1]) == other[2]:
            return {"id": path}
        resource = self.resources.get(path)
        if resource is None:
            code = "ResourceGroupNotFound" if other else "ResourceNotFound"
            raise cli_error('Not Found({"error":{"code":"' + code + '","message":"It was not found."}})')
        return resource

    def _settings(self, options: dict[str, str]) -> Any:
        held_setting = self.settings["/".join(filter(None, (options["--name"], options.get("--slot"))))]
        return [{"name": name, "slotSetting": False, "value": value} for name, value in held_setting.items()]


def deployment(
    name: str, time: str, parameters: Mapping[str, Any], outputs: Mapping[str, str], state: str = "Succeeded"
) -> dict[str, Any]:
    """A deployment as `az deployment group list` shows it."""
    failed = {"code": "DeploymentFailed", "message": "At least one resource deployment operation failed."}
    return {
        "name": name,
        "properties": {
            "provisioningState": state,
            "timestamp": f"{time}.123456+00:00",
            "error": failed if state == "Failed" else None,
            "parameters": {name: {"type": "String", "value": value} for name, value in parameters.items()},
            "outputs": {name: {"type": "String", "value": value} for name, value in outputs.items()},
        },
    }


def cli_error(text: str, *arguments: str) -> AzureCliError:
    """AzureCli's error for this output of `az`."""
    code = re.match(r"\((\w+)\)", text) or re.search(r'"code":"(\w+)"', text)
    command = ("az", *arguments)
    message = f"`{' '.join(command)}` failed: {text}"
    return AzureCliError(command=command, exit_code=1, message=message, code=code[1] if code else "")


COLUMNS = ("Kind", "App", "Times", "Last", "Text", "Undelivered")


def _site(name: str) -> dict[str, Any]:
    identity = {"principalId": PRINCIPALS[name], "clientId": f"client-{name}"}
    return {
        "id": {**SITES, LINEAGE: PAGE}[name],
        "identity": {"type": "UserAssigned", "userAssignedIdentities": {f"{BASE}/…/id-{name}": identity}},
        "properties": {"state": "Running", "defaultHostName": f"{name}.azurewebsites.net", "functionAppConfig": None},
    }


def _functions(name: str) -> dict[str, Any]:
    """As Azure lists the functions of an app: their names with the app's in front."""
    trigger = {"type": "blobTrigger", "path": "events/{name}", "source": "EventGrid", "name": "event"}
    return {
        "value": [
            {
                "name": f"{name}/{function_name}",
                "properties": {
                    "isDisabled": function_name in OFF.get(name, ()),
                    "config": {"bindings": [trigger] if function_name == "parser_function" else []},
                },
            }
            for function_name in (("lineage_function",) if name == LINEAGE else FUNCTIONS)
        ],
        "nextLink": None,
    }


def _app(name: str) -> dict[str, Any]:
    site = {**SITES, LINEAGE: PAGE}[name]
    return {
        site: _site(name),
        f"{site}/config/web": {"properties": {"linuxFxVersion": "PYTHON|3.11", "alwaysOn": True}},
        f"{site}/config/configreferences/appsettings": {"value": [], "nextLink": None},
        f"{site}/functions": _functions(name),
        f"{site}/hostruntime/admin/host/status": {
            "state": "Running",
            "version": "4.1037.0",
            "processUptime": 5_000_000,
        },
    }


def _settings(name: str) -> dict[str, str]:
    account = {RECEIVER: "streclineage", LINEAGE: "stlinlineage"}.get(name, "stlineage")
    receiver = {
        "THROUGHLINE_STORAGE__blobServiceUri": "https://stlineage.blob.core.windows.net/",
        "THROUGHLINE_STORAGE__tableServiceUri": "https://stlineage.table.core.windows.net/",
        "AzureFunctionsWebHost__hostid": "receiver",
    }
    worker = {
        "THROUGHLINE_CATALOG_ENDPOINT": "https://pv.purview.azure.com/datamap/api/atlas/v2",
        "AzureFunctionsWebHost__hostid": "worker",
    }
    page = receiver | {"AzureFunctionsWebHost__hostid": "lineage", "AzureWebJobsDisableHomepage": "true"}
    return {
        "AzureWebJobsStorage__blobServiceUri": f"https://{account}.blob.core.windows.net/",
        "AzureWebJobsStorage__queueServiceUri": f"https://{account}.queue.core.windows.net/",
        "AzureWebJobsStorage__tableServiceUri": f"https://{account}.table.core.windows.net/",
        "AzureWebJobsStorage__credential": "managedidentity",
        "AzureWebJobsStorage__clientId": f"client-{name}",
        "APPLICATIONINSIGHTS_CONNECTION_STRING": SECRET,
        "THROUGHLINE_CATALOG_TOKEN": SECRET,
        "FUNCTIONS_WORKER_RUNTIME": "python",
        "FUNCTIONS_EXTENSION_VERSION": "~4",
        "WEBSITE_RUN_FROM_PACKAGE": "1",
        **{WORKER: worker, LINEAGE: page}.get(name, receiver),
    }


def _account(name: str) -> dict[str, Any]:
    ends = {kind: f"https://{name}.{kind}.core.windows.net/" for kind in ("blob", "queue", "table")}
    return {
        "id": f"{ACCOUNTS}/{name}",
        "name": name,
        "properties": {
            "publicNetworkAccess": "Enabled",
            "networkAcls": {"defaultAction": "Allow"},
            "primaryEndpoints": ends,
        },
    }


SCOPES: dict[str, Callable[[Mapping[str, str]], str]] = {
    "storage": lambda _: STORAGE,
    "receiverStorage": lambda _: RECEIVER_STORAGE,
    "lineageStorage": lambda _: LINEAGE_STORAGE,
    "container": lambda grant: f"{STORAGE}/blobServices/default/containers/{grant['of']}",
    "table": lambda grant: f"{STORAGE}/tableServices/default/tables/{grant['of']}",
    "insights": lambda _: f"{INSIGHTS}/components/appi-lineage",
}
"""Where the template assigns the roles of infra/roles.json: infra/modules/roles.bicep."""


def roles_of(part: str, delivery: str = "eventGrid") -> list[dict[str, str]]:
    """The roles that the template assigns, as `az role assignment list` gives it: the role by its full id."""
    return [
        {
            "roleDefinitionId": f"/subscriptions/{SUBSCRIPTION}/…/roleDefinitions/{grant['role']}",
            "scope": SCOPES[grant["on"]](grant),
        }
        for grant in ROLES
        if grant["to"] == part and grant.get("when", delivery) == delivery
    ]


def row(kind: str, app: str = WORKER, *, times: int = 3, text: str = "", undelivered: int = 0) -> list[Any]:
    """A row of the query of logs, as Log Analytics answers it: seven digits of a second, numbers or null."""
    last = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.1234567Z"
    return [kind, app, times, last, text or f"{kind} line", undelivered or None]


def healthy(receiver_url: str = f"https://{RECEIVER}.azurewebsites.net") -> PlayedAzure:
    """A deployment with Event Grid on a dedicated plan without problems. Both apps answer at `receiver_url`."""
    played = PlayedAzure(
        resources={
            **_app(RECEIVER),
            **_app(WORKER),
            ACCOUNTS: {"value": [_account("stlineage"), _account("streclineage")]},
            TOPIC: {"id": TOPIC, "properties": {"provisioningState": "Succeeded"}},
            EVENTS: {
                "properties": {
                    "provisioningState": "Succeeded",
                    "destination": {
                        "endpointType": "WebHook",
                        "properties": {
                            "endpointBaseUrl": f"https://{WORKER}.azurewebsites.net/runtime/webhooks/blobs",
                        },
                    },
                    "filter": {"subjectBeginsWith": "/blobServices/default/containers/events/"},
                }
            },
            f"{INSIGHTS}/components": {"value": [{"id": f"{INSIGHTS}/components/appi-lineage"}]},
            f"{INSIGHTS}/scheduledQueryRules": {
                "value": [{"name": "a", "properties": {"actions": {"actionGroups": [ACTION_GROUP]}}}],
                "nextLink": None,
            },
            ACTION_GROUP: {
                "properties": {"enabled": True, "emailReceivers": [{"name": "mail"}], "smsReceivers": []},
            },
            f"{BASE}/providers/Microsoft.OperationalInsights/workspaces": {
                "value": [{"properties": {"customerId": "99999999-0000-4000-8000-000000000009"}}]
            },
        },
        settings={name: _settings(name) for name in SITES}
        | {f"{RECEIVER}/staging": _settings(RECEIVER) | {"AzureFunctionsWebHost__hostid": "receiver-staging"}},
        roles={PRINCIPALS[RECEIVER]: roles_of("receiver"), PRINCIPALS[WORKER]: roles_of("worker")},
        outputs={
            # the case of the first letters is Azure's to change
            "receiveR_NAME": RECEIVER,
            "receiveR_URL": receiver_url,
            "receiveR_SLOT": "staging",
            "workeR_NAME": WORKER,
            "workeR_PRINCIPAL_ID": PRINCIPALS[WORKER],
            "storagE_ACCOUNT_NAME": "stlineage",
            "delivery": "eventGrid",
            "evenT_TOPIC_NAME": "evgt-lineage",
        },
        parameters={"environmentName": "lineage", "purviewAccountName": "pv", "alertEmail": "ann@example.com"},
        rows=[row("sweep", times=60)],
        metrics={"DeliverySuccessCount": 120.0, "DeliveryAttemptFailCount": 2.0, "DroppedEventCount": 0.0},
    )
    host = receiver_url.partition("://")[2]
    for site in SITES.values():
        played.resources[site]["properties"]["defaultHostName"] = host
    base = played.resources[EVENTS]["properties"]["destination"]["properties"]
    base["endpointBaseUrl"] = f"https://{host}/runtime/webhooks/blobs"
    return played


def with_lineage(played: PlayedAzure) -> PlayedAzure:
    """The same deployment with the app of the lineage page."""
    provider = {
        "enabled": True,
        "validation": {"defaultAuthorizationPolicy": {"allowedPrincipals": {"groups": ["stewards", "analysts"]}}},
    }
    played.resources |= _app(LINEAGE) | {
        f"{PAGE}/config/authsettingsV2": {
            "properties": {
                "platform": {"enabled": True},
                "globalValidation": {"requireAuthentication": True},
                "identityProviders": {"azureActiveDirectory": provider},
            }
        }
    }
    played.resources[ACCOUNTS]["value"].append(_account("stlinlineage"))
    played.settings[LINEAGE] = _settings(LINEAGE)
    played.settings[WORKER]["THROUGHLINE_DOCUMENT"] = "true"
    played.roles[PRINCIPALS[LINEAGE]] = roles_of("lineage")
    played.outputs |= {"lineagE_NAME": LINEAGE, "lineagE_URL": f"https://{LINEAGE}.azurewebsites.net"}
    return played
