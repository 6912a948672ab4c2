"""`throughline doctor --group`: each simulated failure is reported with the command that repairs it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cli.doctor.played_azure import (
    ACCOUNTS,
    ACTION_GROUP,
    BASE,
    EVENTS,
    GROUP,
    INSIGHTS,
    LINEAGE,
    PAGE,
    PRINCIPALS,
    RECEIVER,
    SECRET,
    SITES,
    STORAGE,
    SUBSCRIPTION,
    TOPIC,
    WORKER,
    PlayedAzure,
    deployment,
    healthy,
    row,
    with_lineage,
)
from tests.support.deployment import Root
from throughline.cli.checks.azure.deployed import Deployed, DeploymentQuery
from throughline.cli.checks.azure.deployment import check_deployment
from throughline.cli.checks.azure.rights import needed_roles
from throughline.cli.checks.findings import SECTIONS, CheckResult, CheckState


@pytest.fixture(scope="module")
def shared_root() -> Iterator[Root]:
    root = Root()
    yield root
    root.close()


@pytest.fixture
def root(shared_root: Root) -> Root:
    shared_root.status = 200
    return shared_root


ROOM = f"--resource-group {GROUP}"
DEPLOY = f"python3 -m throughline.cli.deploy {GROUP}"
TEMPLATE = f"{DEPLOY} --template"


def check(azure: PlayedAzure, **target: Any) -> tuple[list[CheckResult], Deployed | None]:
    """All findings about a deployment, without waiting."""
    looking = check_deployment(azure, DeploymentQuery(group=GROUP, pause=lambda _: None, **target))
    check_results: list[CheckResult] = []
    while True:
        try:
            check_results.append(next(looking))
        except StopIteration as end:
            return check_results, end.value


Change = Callable[[PlayedAzure, Root], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One problem, and a part of the command that repairs it. `besides` are codes of its consequences."""

    change: Change
    command: str
    besides: frozenset[str] = frozenset()
    state: CheckState = CheckState.BAD


def case(change: Change, command: str, *besides: str, state: CheckState = CheckState.BAD) -> Case:
    return Case(change=change, command=command, besides=frozenset(besides), state=state)


def site(app: str, path: str = "", **properties: Any) -> Change:
    """A resource of an app with other properties."""
    return lambda azure, _: azure.resources[SITES[app] + path]["properties"].update(properties)


def host(app: str, **status: Any) -> Change:
    return lambda azure, _: azure.resources[f"{SITES[app]}/hostruntime/admin/host/status"].update(status)


def without_resource(path: str) -> Change:
    return lambda azure, _: azure.resources.pop(path)


def failing(pattern: str, error: str) -> Change:
    return lambda azure, _: azure.failing.update({pattern: error})


def switched(app: str, function: str, *, off: bool) -> Change:
    def change(azure: PlayedAzure, _: Root) -> None:
        for site_function in azure.resources[f"{SITES[app]}/functions"]["value"]:
            if site_function["name"] == f"{app}/{function}":
                site_function["properties"]["isDisabled"] = off

    return change


def account(index: int = 0, **properties: Any) -> Change:
    return lambda azure, _: azure.resources[ACCOUNTS]["value"][index]["properties"].update(properties)


def no_account(azure: PlayedAzure, _: Root) -> None:
    azure.resources[ACCOUNTS]["value"].pop(0)


def another_package(azure: PlayedAzure, _: Root) -> None:
    for site_function in azure.resources[f"{SITES[WORKER]}/functions"]["value"]:
        for binding in site_function["properties"]["config"]["bindings"]:
            binding.update(type="queueTrigger", queueName="new-events")


def by_queue(azure: PlayedAzure, root: Root) -> None:
    """A deployment whose Event Grid fills a queue."""
    another_package(azure, root)
    azure.outputs["delivery"] = "queue"
    destination = {
        "endpointType": "StorageQueue",
        "properties": {"resourceId": STORAGE, "queueName": "new-events"},
    }
    azure.resources[EVENTS]["properties"] = {
        "provisioningState": "Succeeded",
        "deliveryWithResourceIdentity": {"identity": {"type": "SystemAssigned"}, "destination": destination},
    }


def without_queue_subscription(azure: PlayedAzure, root: Root) -> None:
    by_queue(azure, root)
    azure.resources.pop(EVENTS)


def failed_since(azure: PlayedAzure, _: Root) -> None:
    azure.records.append(deployment("lineage-1763720000", "2026-11-21T10:13:20", azure.parameters, {}, "Failed"))


def never_good(azure: PlayedAzure, root: Root) -> None:
    failed_since(azure, root)
    azure.parameters.clear()


def another_environment(azure: PlayedAzure, _: Root) -> None:
    other = azure.parameters | {"environmentName": "test"}
    azure.records.append(deployment("throughline", "2026-11-19T10:00:00", other, azure.outputs))


def setting(app: str, name: str, value: str | None) -> Change:
    def change(azure: PlayedAzure, _: Root) -> None:
        azure.settings[app].pop(name, None)
        azure.settings[app].update({name: value} if value is not None else {})

    return change


def secret(status: str) -> Change:
    def change(azure: PlayedAzure, _: Root) -> None:
        reference = {"status": status, "vaultName": "kv", "secretName": "atlas-password", "reference": SECRET}
        azure.resources[f"{SITES[WORKER]}/config/configreferences/appsettings"]["value"] = [
            {"name": "THROUGHLINE_CATALOG_TOKEN", "properties": reference}
        ]

    return change


def no_queue_role(azure: PlayedAzure, _: Root) -> None:
    held_role = azure.roles[PRINCIPALS[WORKER]]
    held_role[:] = [assignment for assignment in held_role if "974c5e8b" not in assignment["roleDefinitionId"]]


def no_output(name: str) -> Change:
    return lambda azure, _: azure.outputs.pop(name)


def logged(*rows: list[Any]) -> Change:
    return lambda azure, _: azure.rows.extend(rows)


def no_sweeps(azure: PlayedAzure, _: Root) -> None:
    azure.rows.clear()


def undelivered(azure: PlayedAzure, _: Root) -> None:
    azure.rows[:] = [row("sweep", times=60, undelivered=7)]


NETWORK = "This request is not authorized to perform this operation. ErrorCode: AuthorizationFailure"
ROLE = "This request is not authorized to perform this operation using this permission. AuthorizationPermissionMismatch"
LOG = f"az webapp log tail {ROOM} --name {WORKER}"
CREATE = "az role assignment create"
TO_WORKER = f"{CREATE} --assignee-object-id {PRINCIPALS[WORKER]} --assignee-principal-type ServicePrincipal --scope"

CASES: dict[str, Case] = {
    "az-signed-out": case(failing("^account show", "Please run 'az login' to setup account."), "az login"),
    "subscription-unknown": case(
        failing("^account show", "Subscription 'Prod' not found. Check the ID or name and try again."),
        "az account list --refresh --output table",
    ),
    "subscription-wrong": case(
        lambda azure, _: azure.groups.update({SUBSCRIPTION: "other", f"{SUBSCRIPTION[:-2]}bb": GROUP}),
        f"throughline doctor --group {GROUP} --subscription 'Subscription bb'",
    ),
    "group-missing": case(
        lambda azure, _: azure.groups.update({SUBSCRIPTION: "other"}), f"az group create --name {GROUP}"
    ),
    "azure-error": case(failing("^group show", "Connection aborted."), "az upgrade", state=CheckState.UNSEEN),
    "azure-forbidden": case(
        failing(
            "appsettings list",
            "(AuthorizationFailed) The client 'ann' does not have authorization to perform action "
            "'Microsoft.Web/sites/config/list/action' over scope",
        ),
        f'{CREATE} --assignee "$(az ad signed-in-user show --query id --output tsv)" --scope {BASE} '
        "--role 'Website Contributor'",
        state=CheckState.UNSEEN,
    ),
    "data-forbidden": case(
        failing("storage queue", "You do not have the required permissions needed to perform this operation."),
        f"--scope {STORAGE} --role 'Storage Queue Data Reader'",
        state=CheckState.UNSEEN,
    ),
    "deployment-missing": case(lambda azure, _: azure.parameters.clear(), f"az deployment group list {ROOM}"),
    "deployment-failed": case(failed_since, f"az deployment operation group list {ROOM} --name lineage-1763720000"),
    "deployment-unclear": case(another_environment, f"throughline doctor --group {GROUP} --environment lineage"),
    "outputs-missing": case(no_output("workeR_NAME"), TEMPLATE),
    "app-missing": case(without_resource(SITES[RECEIVER]), TEMPLATE),
    "app-stopped": case(site(RECEIVER, state="Stopped"), f"az functionapp start {ROOM} --name {RECEIVER}"),
    "identity-missing": case(
        lambda azure, _: azure.resources[SITES[RECEIVER]].update(identity=None), TEMPLATE, "role-missing"
    ),
    "account-missing": case(no_account, f"az storage account list {ROOM}", "setting-differs"),
    "account-closed": case(
        account(publicNetworkAccess="Disabled"),
        f"{TEMPLATE} --set privateNetwork=true",
    ),
    "role-missing": case(no_queue_role, f"{TO_WORKER} {STORAGE} --role 'Storage Queue Data Contributor'"),
    "alerts-missing": case(
        lambda azure, _: azure.resources[f"{INSIGHTS}/scheduledQueryRules"].update(value=[]), TEMPLATE
    ),
    "alerts-unheard": case(without_resource(ACTION_GROUP), TEMPLATE),
    "code-missing": case(lambda azure, _: azure.resources[f"{SITES[WORKER]}/functions"].update(value=[]), DEPLOY),
    "function-missing": case(lambda azure, _: azure.resources[f"{SITES[RECEIVER]}/functions"]["value"].pop(1), DEPLOY),
    "function-off": case(switched(WORKER, "parser_function", off=True), TEMPLATE),
    "function-on": case(switched(RECEIVER, "parser_function", off=False), TEMPLATE),
    "delivery-differs": case(another_package, DEPLOY),
    "python-differs": case(site(WORKER, "/config/web", linuxFxVersion="Python|3.12"), TEMPLATE),
    "always-on-off": case(site(RECEIVER, "/config/web", alwaysOn=False), TEMPLATE),
    "setting-missing": case(setting(WORKER, "THROUGHLINE_CATALOG_ENDPOINT", None), TEMPLATE),
    "setting-differs": case(setting(WORKER, "AzureWebJobsStorage__clientId", "another"), TEMPLATE),
    "setting-unwanted": case(setting(RECEIVER, "AzureWebJobsStorage", f"AccountKey={SECRET}"), TEMPLATE),
    "secret-denied": case(
        secret("AccessToKeyVaultDenied"),
        f"{TO_WORKER} {BASE}/providers/Microsoft.KeyVault/vaults/kv --role 'Key Vault Secrets User'",
    ),
    "secret-missing": case(secret("SecretNotFound"), "az keyvault secret list --vault-name kv"),
    "secret-unresolved": case(secret("InvalidSyntax"), TEMPLATE),
    "host-role": case(host(WORKER, state="Error", errors=[ROLE]), TEMPLATE),
    "host-network": case(
        host(WORKER, state="Error", errors=[NETWORK]), f"az storage account show {ROOM} --name stlineage"
    ),
    "host-error": case(host(WORKER, state="Error", errors=["host.json: Unexpected character"]), LOG),
    "host-silent": case(
        failing(
            f"{WORKER}/hostruntime",
            'Bad Request({"error":{"code":"BadRequest","message":"Encountered an error (ServiceUnavailable) from host '
            'runtime."}})',
        ),
        LOG,
    ),
    "host-restarts": case(host(WORKER, processUptime=21_000), LOG),
    "root-503": case(lambda _, root: setattr(root, "status", 503), "az webapp log tail"),
    "app-closed": case(
        lambda _, root: setattr(root, "status", 403),
        f"az functionapp config access-restriction show {ROOM}",
        state=CheckState.UNSEEN,
    ),
    "app-unreachable": case(
        site(RECEIVER, defaultHostName="127.0.0.1:9"), "curl --verbose http://127.0.0.1:9/", state=CheckState.UNSEEN
    ),
    "sweeper-silent": case(no_sweeps, f"az functionapp restart {ROOM} --name {WORKER}"),
    "undelivered": case(undelivered, DEPLOY),
    "topic-missing": case(without_resource(TOPIC), TEMPLATE),
    "subscription-missing": case(without_resource(EVENTS), DEPLOY),
    "subscription-failed": case(
        lambda azure, _: azure.resources[EVENTS]["properties"].update(provisioningState="AwaitingManualAction"), DEPLOY
    ),
    "subscription-elsewhere": case(
        lambda azure, _: azure.resources[EVENTS]["properties"]["destination"]["properties"].update(
            endpointBaseUrl="https://func-old.azurewebsites.net/runtime/webhooks/blobs"
        ),
        DEPLOY,
    ),
    "queue-subscription": case(without_queue_subscription, TEMPLATE),
    "delivery-failing": case(
        lambda azure, _: azure.metrics.update(DeliverySuccessCount=3.0, DeliveryAttemptFailCount=40.0), DEPLOY
    ),
    "delivery-given-up": case(lambda azure, _: azure.metrics.update(DroppedEventCount=5.0), "throughline status"),
    "poison-queue": case(
        lambda azure, _: setattr(azure, "poison", 2), "az storage message clear --queue-name webjobs-blobtrigger-poison"
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_a_failure_is_reported_with_its_command(code: str, root: Root) -> None:
    each, azure = CASES[code], healthy(root.url)
    each.change(azure, root)
    findings, _ = check(azure)
    wrong = [finding for finding in findings if not finding.good]
    named = [finding for finding in wrong if finding.code == code]
    assert named, wrong
    assert {finding.code for finding in wrong} <= {code, *each.besides}, wrong
    assert all(finding.state is each.state for finding in named)
    assert any(each.command in finding.command for finding in named), [finding.command for finding in named]
    assert named[0].means
    assert SECRET not in str(findings)


def test_a_healthy_deployment_has_only_good_findings(root: Root) -> None:
    azure = healthy(root.url)
    findings, deployed = check(azure)
    assert [finding for finding in findings if not finding.good] == []
    assert deployed
    assert deployed.outputs["RECEIVER_NAME"] == RECEIVER
    assert {"sign-in", "deployment", "receiver", "worker", "Event Grid", "delivery", "alerts"} <= {
        finding.subject for finding in findings
    }
    assert SECRET not in str(findings)


def auth(**properties: Any) -> Change:
    return lambda azure, _: azure.resources[f"{PAGE}/config/authsettingsV2"]["properties"].update(properties)


def only_the_tenant(azure: PlayedAzure, _: Root) -> None:
    provider = azure.resources[f"{PAGE}/config/authsettingsV2"]["properties"]["identityProviders"]
    provider["azureActiveDirectory"]["validation"].clear()


def no_reader(azure: PlayedAzure, _: Root) -> None:
    assignments = azure.roles[PRINCIPALS[LINEAGE]]
    assignments[:] = [assignment for assignment in assignments if "2a2b9908" not in assignment["roleDefinitionId"]]


OF_PAGE: dict[str, tuple[Change, str, str]] = {
    "sign-in-off": (auth(globalValidation={"requireAuthentication": False}), "lineage sign-in", TEMPLATE),
    "sign-in-open": (only_the_tenant, "lineage sign-in", TEMPLATE),
    "app-missing": (without_resource(PAGE), "lineage", TEMPLATE),
    "account-missing": (lambda azure, _: azure.resources[ACCOUNTS]["value"].pop(), "storage account", "az storage"),
    "role-missing": (no_reader, "lineage's roles", "containers/published --role 'Storage Blob Data Reader'"),
    "function-missing": (
        lambda azure, _: azure.resources[f"{PAGE}/functions"]["value"][0].update(name=f"{LINEAGE}/other"),
        "lineage's functions",
        DEPLOY,
    ),
    "setting-missing": (setting(LINEAGE, "AzureWebJobsDisableHomepage", None), "lineage's settings", TEMPLATE),
    "setting-differs": (setting(WORKER, "THROUGHLINE_DOCUMENT", "false"), "worker's settings", TEMPLATE),
}


@pytest.mark.parametrize("code", OF_PAGE)
def test_the_app_of_the_lineage_page_is_checked_where_there_is_one(code: str, root: Root) -> None:
    change, subject, command = OF_PAGE[code]
    azure = with_lineage(healthy(root.url))
    findings, _ = check(azure)
    assert [finding for finding in findings if not finding.good] == []
    assert {"lineage", "lineage's roles", "lineage's host", "lineage sign-in"} <= {
        check_result.subject for check_result in findings
    }
    azure = with_lineage(healthy(root.url))
    change(azure, root)
    findings, _ = check(azure)
    (wrong,) = [check_result for check_result in findings if check_result.code == code]
    assert (wrong.subject, command in wrong.command) == (subject, True), wrong
    assert SECRET not in str(findings)


def test_a_deployment_that_was_never_good_is_reported_with_its_reason(root: Root) -> None:
    azure = healthy(root.url)
    never_good(azure, root)
    findings, deployed = check(azure)
    (wrong,) = [finding for finding in findings if not finding.good]
    assert (wrong.code, deployed) == ("deployment-failed", None)
    assert "DeploymentFailed: At least one resource" in wrong.found


def test_one_of_several_environments_is_checked_by_its_name(root: Root) -> None:
    azure = healthy(root.url)
    another_environment(azure, root)
    no_queue_role(azure, root)
    findings, deployed = check(azure, environment="lineage")
    assert deployed
    assert deployed.name == "lineage-1763632800", "named by azd"
    assert [finding.code for finding in findings if not finding.good] == ["role-missing"]
    azure.resources.pop(TOPIC)
    findings, _ = check(azure, environment="lineage", subscription="Prod 1")
    assert any(
        check_result.command == f"{TEMPLATE} --environment lineage --subscription 'Prod 1'" for check_result in findings
    )


def test_settings_of_the_slot_are_checked_because_a_swap_brings_them_to_production(root: Root) -> None:
    azure = healthy(root.url)
    setting(f"{RECEIVER}/staging", "AzureWebJobsStorage__clientId", "another")(azure, root)
    findings, _ = check(azure)
    (wrong,) = [finding for finding in findings if not finding.good]
    assert (wrong.code, wrong.subject) == ("setting-differs", "receiver's settings in slot staging")


def test_an_action_group_that_no_rule_names_is_nobody_s(root: Root) -> None:
    """Application Insights makes one by itself, with receivers by role."""
    azure = healthy(root.url)
    azure.resources[f"{INSIGHTS}/scheduledQueryRules"]["value"][0]["properties"]["actions"]["actionGroups"] = []
    azure.parameters["alertEmail"] = ""
    findings, _ = check(azure)
    (wrong,) = [finding for finding in findings if not finding.good]
    assert (wrong.code, wrong.command) == ("alerts-unheard", f"{TEMPLATE} --set alertEmail=YOU@EXAMPLE.COM")


def test_a_deployment_with_a_queue_is_good_and_has_a_poison_queue_of_its_own(root: Root) -> None:
    azure = healthy(root.url)
    by_queue(azure, root)
    findings, _ = check(azure)
    assert [finding for finding in findings if not finding.good] == []
    azure.poison = 1
    findings, _ = check(azure)
    (wrong,) = [finding for finding in findings if not finding.good]
    assert "--queue-name new-events-poison" in wrong.command


def test_a_flex_app_needs_no_always_on_and_has_python_in_its_function_app_config(root: Root) -> None:
    azure = healthy(root.url)
    for app, path in SITES.items():
        azure.resources[path]["properties"]["functionAppConfig"] = {"runtime": {"name": "python", "version": "3.11"}}
        azure.resources[f"{path}/config/web"]["properties"] = {"linuxFxVersion": "", "alwaysOn": False}
        for name in ("FUNCTIONS_WORKER_RUNTIME", "FUNCTIONS_EXTENSION_VERSION", "WEBSITE_RUN_FROM_PACKAGE"):
            azure.settings[app].pop(name)
    findings, _ = check(azure)
    assert [finding for finding in findings if not finding.good] == []


def test_a_role_granted_above_the_account_is_accepted(root: Root) -> None:
    azure = healthy(root.url)
    for assignments in azure.roles.values():
        for assignment in assignments:
            assignment["scope"] = BASE.lower()
    findings, _ = check(azure)
    assert [finding for finding in findings if not finding.good] == []


def test_a_failed_start_is_also_detected_in_the_log(root: Root) -> None:
    azure = healthy(root.url)
    logged(row("startup", times=9, text=f"A host error has occurred during startup operation 'x'. {ROLE}"))(azure, root)
    findings, _ = check(azure)
    (wrong,) = [finding for finding in findings if not finding.good]
    assert (wrong.code, wrong.subject) == ("host-role", "worker's log")
    assert wrong.found.startswith("Host.Startup[515], 9 times in an hour")


def test_a_host_that_keeps_restarting_is_also_detected_in_the_log(root: Root) -> None:
    azure = healthy(root.url)
    logged(row("ended", times=40), row("ended", RECEIVER, times=2))(azure, root)
    findings, _ = check(azure)
    assert [(check_result.code, check_result.subject) for check_result in findings if not check_result.good] == [
        ("host-restarts", "worker's log")
    ]


def test_a_host_that_has_just_started_is_checked_again(root: Root) -> None:
    azure = healthy(root.url)
    host(WORKER, processUptime=21_000)(azure, root)
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        host(WORKER, processUptime=21_000 + int(seconds * 1000))(azure, root)

    findings = list(check_deployment(azure, DeploymentQuery(group=GROUP, pause=pause)))
    assert [finding for finding in findings if not finding.good] == []
    assert len(waits) == 1


def test_printed_commands_name_the_requested_subscription(root: Root) -> None:
    azure = healthy(root.url)
    no_queue_role(azure, root)
    findings, _ = check(azure, subscription="Prod 1")
    (wrong,) = [finding for finding in findings if not finding.good]
    assert wrong.command.endswith("--subscription 'Prod 1'")


def test_a_failing_check_does_not_hide_the_other_findings(root: Root) -> None:
    azure = healthy(root.url)
    failing("role assignment list", "(InternalServerError) Something broke.")(azure, root)
    no_sweeps(azure, root)
    findings, _ = check(azure)
    assert {finding.code for finding in findings if not finding.good} == {"azure-error", "sweeper-silent"}


def test_check_reads_all_pages_of_an_answer(root: Root) -> None:
    azure = healthy(root.url)
    path = f"{SITES[WORKER]}/functions"
    entries = azure.resources[path]["value"]
    azure.resources[path] = {"value": entries[:2], "nextLink": "https://management.azure.com/next"}
    azure.resources["https://management.azure.com/next"] = {"value": entries[2:], "nextLink": None}
    findings, _ = check(azure)
    assert [finding for finding in findings if not finding.good] == []


READS = re.compile(
    r"(account|group|deployment group) (show|list)|rest --method get |rest --method post --resource https://api\."
    r"loganalytics|functionapp config appsettings list|role assignment list|monitor metrics list|"
    r"storage (queue exists|message peek)"
)


def test_the_check_calls_only_commands_that_read(root: Root) -> None:
    azure = healthy(root.url)
    check(azure)
    assert [call for call in azure.calls if not READS.match(" ".join(call))] == []
    setting_calls = [call for call in azure.calls if "keys" in call or "appsettings" in call]
    assert setting_calls
    assert all("--query" in call for call in setting_calls), "az itself leaves out possible secrets"


def test_every_rule_about_azure_has_a_case() -> None:
    sections = ("Into Azure", "The deployment", "The apps", "The host", "Delivery of events")
    rules = {rule.code for section in sections for rule in SECTIONS[section]}
    assert rules - set(CASES) - set(OF_PAGE) == {"az-missing"}, (
        "that one needs a machine without az: test_doctor_command"
    )


@pytest.mark.parametrize("index", [0, 1])
def test_an_account_closed_by_network_rules_alone_is_reported_as_closed(index: int, root: Root) -> None:
    azure = healthy(root.url)
    account(index, networkAcls={"defaultAction": "Deny"})(azure, root)
    findings, _ = check(azure)
    assert [finding.code for finding in findings if not finding.good] == ["account-closed"]
    for path in SITES.values():
        azure.resources[path]["properties"]["virtualNetworkSubnetId"] = "/subnets/apps"
    findings, _ = check(azure)
    assert [finding for finding in findings if not finding.good] == []


def test_an_app_with_the_same_host_id_as_its_slot_is_reported(root: Root) -> None:
    azure = healthy(root.url)
    azure.settings[RECEIVER].pop("AzureFunctionsWebHost__hostid")
    findings, _ = check(azure)
    (wrong,) = [finding for finding in findings if not finding.good]
    assert wrong.code == "setting-missing"
    assert wrong.found == "AzureFunctionsWebHost__hostid is not set"


GRANT = {"to": "worker", "name": "A role", "role": "0-0", "reason": "x"}


@pytest.mark.parametrize(
    ("grant", "scope"),
    [
        ({"on": "storage"}, STORAGE),
        ({"on": "receiverStorage"}, f"{ACCOUNTS}/streclineage"),
        ({"on": "container", "of": "events"}, f"{STORAGE}/blobServices/default/containers/events"),
        ({"on": "table", "of": "runs"}, f"{STORAGE}/tableServices/default/tables/runs"),
        ({"on": "insights"}, f"{INSIGHTS}/components/appi-lineage"),
        ({"on": "storage", "when": "eventGrid"}, STORAGE),
        ({"on": "storage", "when": "queue"}, ""),
    ],
)
def test_a_role_is_checked_at_the_scope_given_by_the_table_of_roles(
    grant: dict[str, str], scope: str, root: Root
) -> None:
    azure = healthy(root.url)
    _, deployed = check(azure)
    assert deployed
    scopes = [needed["scope"] for needed in needed_roles(deployed, "worker", [{**GRANT, **grant}])]
    assert scopes == ([scope] if scope else [])


def test_every_grant_in_the_table_of_roles_has_a_scope(root: Root) -> None:
    _, deployed = check(healthy(root.url))
    assert deployed
    assert all(needed_role["scope"] for part in ("receiver", "worker") for needed_role in needed_roles(deployed, part))
