"""The function apps: whether they run, from which code, as whom."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from throughline.cli.checks.azure.deployed import Deployed
from throughline.cli.checks.azure.reading import WEB, get, listed
from throughline.cli.checks.findings import CheckResult, Places, bad, good

LINEAGE = "lineage"
_RUNS = {
    "receiver": ("receiver_function",),
    "worker": ("parser_function", "sweeper_function"),
    LINEAGE: ("lineage_function",),
}
FUNCTIONS = (*_RUNS["receiver"], *_RUNS["worker"])
"""The package of receiver and worker holds all of them; each app has those of the other one switched off."""

_OUTPUTS = {"receiver": "RECEIVER_NAME", "worker": "WORKER_NAME", LINEAGE: "LINEAGE_NAME"}
PARSER = "parser_function"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionApp:
    """One of the apps as Resource Manager shows it. `part` is receiver, worker or lineage; `identity` its own."""

    part: str
    name: str
    id: str
    properties: Mapping[str, Any]
    principal: str
    client_id: str
    places: Places

    @property
    def flex(self) -> bool:
        """Whether it runs on Flex Consumption, which keeps runtime and deployment out of the settings."""
        return bool(self.properties.get("functionAppConfig"))

    @property
    def host(self) -> str:
        """Its host name."""
        return str(self.properties.get("defaultHostName") or "")


def parts_of(deployed: Deployed) -> tuple[str, ...]:
    """The parts that the deployment should have an app of: with the lineage page, or without."""
    return tuple(part for part, output in _OUTPUTS.items() if part != LINEAGE or deployed.outputs.get(output))


def apps_of(deployed: Deployed) -> Generator[CheckResult, None, tuple[FunctionApp, ...]]:
    """The apps that there are, with what is wrong with each as a resource."""
    function_apps = []
    for part in parts_of(deployed):
        name = deployed.outputs[_OUTPUTS[part]]
        app_id = deployed.resource(f"Microsoft.Web/sites/{name}")
        site = get(deployed.az, app_id, WEB)
        if site is None:
            yield bad("app-missing", part, f"there is no app {name}", **deployed.places)
            continue
        identity = _identity(site, deployed.outputs["WORKER_PRINCIPAL_ID"] if part == "worker" else "")
        app = FunctionApp(
            part=part,
            name=name,
            id=app_id,
            properties=site["properties"],
            principal=str(identity.get("principalId", "")),
            client_id=str(identity.get("clientId", "")),
            places={**deployed.places, "app": name},
        )
        function_apps.append(app)
        yield from _state(app)
    return tuple(function_apps)


def _identity(site: Mapping[str, Any], principal: str) -> Mapping[str, str]:
    """The user-assigned identity of an app: the one with this principal where there are several."""
    assigned = list(((site.get("identity") or {}).get("userAssignedIdentities") or {}).values())
    of_principal = [assignment for assignment in assigned if assignment.get("principalId") == principal]
    return next(iter(of_principal or assigned), {})


def _state(app: FunctionApp) -> Iterator[CheckResult]:
    state = app.properties.get("state")
    if state != "Running":
        yield bad("app-stopped", app.part, f"{app.name} is {state}", **app.places)
    elif not app.principal:
        yield bad("identity-missing", app.part, f"{app.name} has no user-assigned identity", **app.places)
    else:
        yield good(app.part, f"{app.name} runs")


def code(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """Which functions the app has, which are off, and how the parser gets notices of events."""
    subject = f"{app.part}'s functions"
    functions_by_name = {
        function["name"].rpartition("/")[2]: function["properties"]
        for function in listed(deployed.az, f"{app.id}/functions", WEB)
    }
    if not functions_by_name:
        yield bad("code-missing", subject, f"{app.name} lists no function", **app.places)
        return
    function_names = _RUNS[LINEAGE] if app.part == LINEAGE else FUNCTIONS
    missing = [name for name in function_names if name not in functions_by_name]
    if missing:
        yield bad("function-missing", subject, f"{app.name} lacks {', '.join(missing)}", **app.places)
        return
    on = ", ".join(_RUNS[app.part]) + ("; the others are off" if len(function_names) > 1 else "")
    yield from list(_switched(app, function_names, functions_by_name, subject)) or [good(subject, on)]
    if app.part == "worker":
        yield from _delivery(deployed, app, functions_by_name[PARSER])


def _switched(
    app: FunctionApp, function_names: Iterable[str], functions_by_name: Mapping[str, Mapping[str, Any]], subject: str
) -> Iterator[CheckResult]:
    for name in function_names:
        off, should_be_off = bool(functions_by_name[name].get("isDisabled")), name in _RUNS[app.part]
        if off and should_be_off:
            yield bad("function-off", subject, f"{name} is off", **app.places)
        elif not off and not should_be_off:
            yield bad("function-on", subject, f"{name} runs here", **app.places)


def _delivery(deployed: Deployed, app: FunctionApp, parser: Mapping[str, Any]) -> Iterator[CheckResult]:
    """Whether the parser's trigger fits the deployment's delivery: only the package determines it."""
    bindings = (parser.get("config") or {}).get("bindings") or ()
    triggers = [str(binding["type"]).lower() for binding in bindings]
    built = "queue" if "queuetrigger" in triggers else "eventGrid"
    wanted_delivery = deployed.outputs["DELIVERY"]
    if built != wanted_delivery:
        problem = f"the package is built for {built}, the deployment is for {wanted_delivery}"
        yield bad("delivery-differs", "delivery", problem, **app.places)
    else:
        yield good("delivery", wanted_delivery)


def runtime(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """The version of Python, and Always On where the plan has it."""
    subject = f"{app.part}'s runtime"
    if app.flex:
        version = str(app.properties["functionAppConfig"].get("runtime", {}).get("version", ""))
        is_always_on = True
    else:
        web = get(deployed.az, f"{app.id}/config/web", WEB) or {"properties": {}}
        version = str(web["properties"].get("linuxFxVersion") or "").partition("|")[2]
        is_always_on = bool(web["properties"].get("alwaysOn"))
    python, wrong = deployed.python, []
    if version != python:
        problem = f"Python {version or 'unknown'}, the package is for {python}"
        wrong.append(bad("python-differs", subject, problem, **app.places))
    if not is_always_on:
        wrong.append(bad("always-on-off", subject, f"{app.name} is not always on", **app.places))
    yield from wrong or [good(subject, f"Python {version}" + ("" if app.flex else ", always on"))]


def sign_in(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """Whether App Service asks people to sign in to the lineage page, and lets in members of groups alone.

    https://learn.microsoft.com/rest/api/appservice/web-apps/get-auth-settings-v2-without-secrets
    """
    subject = "lineage sign-in"
    answer = get(deployed.az, f"{app.id}/config/authsettingsV2", WEB) or {}
    settings = answer.get("properties") or {}
    provider = (settings.get("identityProviders") or {}).get("azureActiveDirectory") or {}
    policy = (provider.get("validation") or {}).get("defaultAuthorizationPolicy") or {}
    groups = (policy.get("allowedPrincipals") or {}).get("groups") or ()
    is_on = (settings.get("platform") or {}).get("enabled") and provider.get("enabled")
    if not (is_on and (settings.get("globalValidation") or {}).get("requireAuthentication")):
        yield bad("sign-in-off", subject, f"{app.name} asks nobody to sign in", **app.places)
    elif not groups:
        yield bad("sign-in-open", subject, f"{app.name} lets in everybody of the tenant", **app.places)
    else:
        yield good(subject, f"Entra ID, {len(groups)} groups")
