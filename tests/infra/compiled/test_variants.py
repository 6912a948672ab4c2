"""The evaluated template: the rights of the identities, the settings of each app, the effect of each parameter."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from shared.storage_layout import EVENTS
from tests.infra.azure_roles import (
    BLOB,
    BLOB_OWNER,
    BLOB_READER,
    QUEUE,
    QUEUE_READER,
    READER,
    SENDER,
    TABLE,
    TABLE_READER,
    TELEMETRY,
    WEBSITES,
)
from tests.infra.compiled.conftest import ALWAYS, VARIANTS
from tests.infra.snapshots import GROUP, Right, Snapshot, evaluated, snapshot
from throughline.package import NEW_EVENTS

Variant = Callable[[str], Snapshot]
DATA, OWN = "Microsoft.Storage/storageAccounts/stmz35fqtkh47iw", "Microsoft.Storage/storageAccounts/strecmz35fqtkh47iw"
"""The storage account of the data, and that of the receiver's host."""
INSIGHTS = "Microsoft.Insights/components/appi-lineage-mz35fqtkh47iw"
CONTAINERS, TABLES = f"{DATA}/blobServices/default/containers", f"{DATA}/tableServices/default/tables"
HOST_ID = "AzureFunctionsWebHost__hostid"
DEDICATED = [name for name, parameters in VARIANTS.items() if parameters.get("plan") != "flex"]


def rights(identity: str, *granted: tuple[str, str]) -> set[Right]:
    return {Right(identity=identity, role=role, scope=scope) for role, scope in granted}


RECEIVER = rights(
    "receiver",
    (BLOB, f"{CONTAINERS}/events"),
    (BLOB, f"{CONTAINERS}/ignored"),
    (TABLE, f"{TABLES}/applications"),
    (TABLE, f"{TABLES}/excluded"),
    (TABLE, f"{TABLES}/refused"),
    (BLOB_OWNER, OWN),
    (TABLE, OWN),
    (TELEMETRY, INSIGHTS),
)
WORKER = rights("worker", (BLOB_OWNER, DATA), (QUEUE, DATA), (TABLE, DATA), (TELEMETRY, INSIGHTS))
READERS_HOST = "Microsoft.Storage/storageAccounts/stlinmz35fqtkh47iw"
LINEAGE = rights(
    "lineage",
    (BLOB_READER, f"{CONTAINERS}/published"),
    (BLOB_OWNER, READERS_HOST),
    (TABLE, READERS_HOST),
    (TELEMETRY, INSIGHTS),
)
SHOWN = [name for name, parameters in VARIANTS.items() if "lineageApplicationId" in parameters]
TOPIC = rights("topic", (SENDER, f"{DATA}/queueServices/default/queues/new-events"))
OPERATORS = rights(
    "operators", (READER, GROUP), (WEBSITES, GROUP), (BLOB_READER, DATA), (TABLE_READER, DATA), (QUEUE_READER, DATA)
)


def difference(one: Snapshot, other: Snapshot) -> tuple[set[str], set[str]]:
    """Return the ids that only one of them has, without the resource group."""

    def ids(side: Snapshot) -> set[str]:
        return {resource["id"].removeprefix(f"{GROUP}/providers/") for resource in side.resources}

    return ids(one) - ids(other), ids(other) - ids(one)


INVALID_COMBINATIONS = {
    "polling": ({"delivery": "polling"}, "eventGrid"),
    "a budget that tells nobody": ({"monthlyBudget": 5, "budgetStart": "2026-12-01"}, "alertEmail or actionGroupIds"),
    "a budget without a first month": ({"monthlyBudget": 5, "alertEmail": "a@example.com"}, "needs budgetStart"),
    "groups of no application": ({"lineageGroups": ["a"]}, "Give both lineageApplicationId and lineageGroups"),
    "callers of no application": ({"entraCallers": ["a"]}, "Give both entraApplicationId and entraCallers"),
    "a NAT gateway for no network": ({"natGatewayId": "/n"}, "need privateNetwork=true"),
    "one subnet of two": (
        {"privateNetwork": True, "appsSubnetId": "/s"},
        "Give both appsSubnetId and endpointsSubnetId",
    ),
    "private apps in no network": ({"privateApps": True}, "need privateNetwork=true"),
    "few instances on Flex": ({"plan": "flex", "instances": 2}, "takes no maximum below 40"),
    "zones with one machine": ({"zoneRedundant": True, "instances": 1}, "zoneRedundant needs two instances"),
    "zones of a Standard size": ({"zoneRedundant": True, "planSize": "S1"}, "of a Premium size or on Flex"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_all_resources_of_a_variant_are_resolved_before_the_deployment(name: str, variant: Variant) -> None:
    """So `what-if` shows everything. Names are unique: no resource is declared twice."""
    found = variant(name)
    assert found.diagnostics == ()
    ids = [resource["id"].lower() for resource in found.resources]
    assert len(ids) == len(set(ids))


def test_two_environments_in_one_group_share_no_resource(variant: Variant, template: Path, tmp_path: Path) -> None:
    other = snapshot(tmp_path / "other", template, {**ALWAYS, "environmentName": "other"})
    ids = [{resource["id"].lower() for resource in found.resources} for found in (variant("default"), other)]
    assert len(ids[0]) == len(ids[1])
    assert ids[0] & ids[1] == set()


@pytest.mark.parametrize(("parameters", "message"), INVALID_COMBINATIONS.values(), ids=INVALID_COMBINATIONS)
def test_an_invalid_combination_is_refused_with_a_message(
    parameters: dict[str, object], message: str, template: Path, tmp_path: Path
) -> None:
    outcome = evaluated(tmp_path / "refused", template, {**ALWAYS, **parameters})
    assert outcome.returncode != 0
    assert message in outcome.stdout + outcome.stderr


# ---- rights


@pytest.mark.parametrize("name", VARIANTS)
def test_identities_have_exactly_the_listed_rights(name: str, variant: Variant) -> None:
    found = variant(name)
    queue = found.outputs["DELIVERY"] == "queue"
    operators = "operatorsGroupId" in VARIANTS[name]
    optional = (TOPIC if queue else set()) | (OPERATORS if operators else set()) | (LINEAGE if name in SHOWN else set())
    assert found.rights == RECEIVER | WORKER | optional


@pytest.mark.parametrize("name", SHOWN)
def test_the_app_of_the_page_asks_everybody_to_sign_in_and_lets_in_the_groups(name: str, variant: Variant) -> None:
    found, parameters = variant(name), VARIANTS[name]
    (auth,) = [
        resource for resource in found.of("Microsoft.Web/sites/config") if resource["name"].endswith("/authsettingsV2")
    ]
    assert "-lineage-lineage-" in auth["name"]
    properties = auth["properties"]
    assert properties["globalValidation"]["requireAuthentication"]
    assert properties["globalValidation"]["unauthenticatedClientAction"] == "RedirectToLoginPage"
    provider = properties["identityProviders"]["azureActiveDirectory"]
    assert provider["registration"].keys() == {"clientId", "openIdIssuer"}, "no secret"
    assert provider["validation"]["allowedAudiences"][0] == parameters["lineageApplicationId"]
    policy = provider["validation"]["defaultAuthorizationPolicy"]
    assert policy == {"allowedPrincipals": {"groups": parameters["lineageGroups"]}}
    settings = found.settings("lineage-lineage")
    assert settings["AzureWebJobsDisableHomepage"] == "true"
    assert "'stmz35fqtkh47iw'" in settings["THROUGHLINE_STORAGE__blobServiceUri"]
    assert "'stlinmz35fqtkh47iw'" in settings["AzureWebJobsStorage__blobServiceUri"]
    assert found.settings("worker")["THROUGHLINE_DOCUMENT"] == "true"
    assert found.body("lineage-lineage")["siteConfig"]["cors"] == {
        "allowedOrigins": parameters.get("lineageOrigins", [])
    }


def test_without_the_parameter_there_is_no_app_of_the_page(variant: Variant) -> None:
    found = variant("default")
    assert [
        resource["name"]
        for resource in found.resources
        if "-lineage-lineage" in resource["name"] or "stlin" in resource["name"]
    ] == []
    assert "THROUGHLINE_DOCUMENT" not in found.settings("worker")


def test_a_closed_network_reaches_the_page_privately(variant: Variant) -> None:
    found = variant("shown-closed")
    assert targets(found)["lineage"] == ("sites", "func-lineage-lineage-mz35fqtkh47iw")
    assert targets(found)["lineage-blob"] == ("blob", "stlinmz35fqtkh47iw")
    assert found.body("lineage-lineage")["publicNetworkAccess"] == "Disabled"


OUT_OF_REACH = {
    "the worker's keys": f"{CONTAINERS}/azure-webjobs-secrets",
    "the worker's leases and receipts": f"{CONTAINERS}/azure-webjobs-hosts",
    "the worker's package": f"{CONTAINERS}/packages",
    "the archive": f"{CONTAINERS}/archive",
    "the queues": f"{DATA}/queueServices/default",
    "the ledger": f"{TABLES}/ledger",
    "the rows about commands": f"{TABLES}/control",
    "the account itself": DATA,
}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("scope", OUT_OF_REACH.values(), ids=OUT_OF_REACH)
def test_the_receiver_has_no_access_to_the_worker_s_data(scope: str, name: str, variant: Variant) -> None:
    found = variant(name)
    assert found.reaching("receiver", scope) == set()
    assert found.reaching("worker", scope), "the same question finds the worker"


def test_the_worker_has_no_access_to_the_receiver_s_host_storage(variant: Variant) -> None:
    assert variant("flex").reaching("worker", f"{OWN}/blobServices/default/containers/packages") == set()
    assert (
        variant("default").reaching("worker", f"{OWN}/blobServices/default/containers/azure-webjobs-secrets") == set()
    )


def test_event_grid_calls_a_webhook_or_fills_a_queue_where_the_apps_are_private(variant: Variant) -> None:
    for name in ("default", "small", "hooked"):
        assert variant(name).outputs["DELIVERY"] == "eventGrid"
        assert variant(name).of("Microsoft.EventGrid/systemTopics/eventSubscriptions") == []
    for name in ("closed", "given", "flex"):
        found = variant(name)
        assert found.outputs["DELIVERY"] == "queue"
        (topic,) = found.of("Microsoft.EventGrid/systemTopics")
        assert topic["identity"] == {"type": "SystemAssigned"}
        (subscription,) = found.of("Microsoft.EventGrid/systemTopics/eventSubscriptions")
        delivery = subscription["properties"]["deliveryWithResourceIdentity"]
        (queue,) = found.of("Microsoft.Storage/storageAccounts/queueServices/queues")
        place = delivery["destination"]["properties"]
        assert delivery["destination"]["endpointType"] == "StorageQueue"
        assert (place["queueName"], queue["name"].rpartition("/")[2]) == (NEW_EVENTS, NEW_EVENTS)
        assert place["resourceId"].endswith(DATA)
        assert (
            subscription["properties"]["filter"]["subjectBeginsWith"] == f"/blobServices/default/containers/{EVENTS}/"
        )


def test_a_system_topic_of_others_is_used_and_not_made(variant: Variant) -> None:
    """An account has only one, as Defender for Storage makes it."""
    assert variant("small").of("Microsoft.EventGrid/systemTopics") == []
    assert variant("small").outputs["EVENT_TOPIC_NAME"] == "defenders-topic"
    assert len(variant("default").of("Microsoft.EventGrid/systemTopics")) == 1


# ---- settings


def account_of(address: str) -> str:
    """Return the account's name in an address whose suffix depends on the cloud."""
    return address.split("'")[3]


@pytest.mark.parametrize("name", VARIANTS)
def test_each_host_has_its_own_account_and_both_apps_use_the_data_account(name: str, variant: Variant) -> None:
    receiver, worker = variant(name).settings("receiver"), variant(name).settings("worker")
    services = [f"AzureWebJobsStorage__{service}ServiceUri" for service in ("blob", "queue", "table")]
    assert {account_of(receiver[service]) for service in services} == {OWN.rpartition("/")[2]}
    assert {account_of(worker[service]) for service in services} == {DATA.rpartition("/")[2]}
    data_settings = [f"THROUGHLINE_STORAGE__{service}ServiceUri" for service in ("blob", "table")]
    assert {account_of(receiver[setting]) for setting in data_settings} == {DATA.rpartition("/")[2]}
    assert not set(data_settings) & set(worker)
    for app, settings in (("receiver", receiver), ("worker", worker)):
        assert f"id-lineage-{app}'" in settings["AzureWebJobsStorage__clientId"]


@pytest.mark.parametrize("name", VARIANTS)
def test_only_the_worker_has_settings_of_the_catalog(name: str, variant: Variant) -> None:
    found = variant(name)
    assert [setting for setting in found.settings("receiver") if setting.startswith("THROUGHLINE_CATALOG_")] == []
    assert "THROUGHLINE_CATALOG_ENDPOINT" in found.settings("worker")


def test_additional_catalog_settings_are_kept_from_the_receiver(variant: Variant) -> None:
    receiver, worker = variant("small").settings("receiver"), variant("small").settings("worker")
    assert receiver["THROUGHLINE_APPLICATION_IDLE_MINUTES"] == worker["THROUGHLINE_APPLICATION_IDLE_MINUTES"] == "30"
    assert worker["THROUGHLINE_CATALOG_TOKEN"] == "reference"  # noqa: S105 - a made-up word
    assert "THROUGHLINE_CATALOG_TOKEN" not in receiver


# ---- upgrades


def test_the_receiver_s_slot_differs_only_in_the_host_id(variant: Variant) -> None:
    """A host derives its id from the first 32 characters of its name. Two hosts with the same id in one account stop:
    https://github.com/Azure/azure-functions-host/wiki/Host-IDs.
    """
    found = variant("default")
    (slot,) = found.of("Microsoft.Web/sites/slots")
    assert found.outputs["RECEIVER_SLOT"] == slot["name"].rpartition("/")[2] == "staging"
    production, staging = found.settings("receiver"), found.settings("receiver/staging")
    assert {name for name in production.keys() | staging.keys() if production.get(name) != staging.get(name)} == {
        HOST_ID
    }
    ids = {settings[HOST_ID] for settings in (production, staging)}
    assert all(len(host_id) <= 32 for host_id in ids)
    (sticky,) = [
        config for config in found.of("Microsoft.Web/sites/config") if config["name"].endswith("slotConfigNames")
    ]
    assert sticky["properties"]["appSettingNames"] == [HOST_ID]
    body, other = dict(found.body("receiver")), dict(slot["properties"])
    assert body.pop("siteConfig") == {**other.pop("siteConfig"), "alwaysOn": True}
    assert body.pop("functionAppConfig") is None
    assert body == other


@pytest.mark.parametrize("name", ["flex", "small"])
def test_plans_without_slots_have_no_slot_resources(name: str, variant: Variant) -> None:
    found = variant(name)
    assert [resource["type"] for resource in found.resources if "/slots" in resource["type"]] == []
    assert found.outputs["RECEIVER_SLOT"] == ""


def test_flex_updates_as_chosen_and_has_separate_package_containers(variant: Variant) -> None:
    configs = {app: variant("flex").body(app)["functionAppConfig"] for app in ("receiver", "worker")}
    assert {config["siteUpdateStrategy"]["type"] for config in configs.values()} == {"Recreate"}, "as chosen"
    ready_instances = configs["receiver"]["scaleAndConcurrency"]["alwaysReady"]
    assert ready_instances == [{"name": "http", "instanceCount": 2}], "with one, there is none while it is replaced"
    packages = {app: account_of(config["deployment"]["storage"]["value"]) for app, config in configs.items()}
    assert packages == {"receiver": OWN.rpartition("/")[2], "worker": DATA.rpartition("/")[2]}
    resource_ids = {resource["id"].removeprefix(f"{GROUP}/providers/") for resource in variant("flex").resources}
    assert {f"{account}/blobServices/default/containers/packages" for account in (DATA, OWN)} <= resource_ids


@pytest.mark.parametrize("name", VARIANTS)
def test_no_app_has_diagnostic_settings(name: str, variant: Variant) -> None:
    """Flex Consumption has none, and elsewhere they repeat Application Insights."""
    scopes = [resource["id"] for resource in variant(name).of("Microsoft.Insights/diagnosticSettings")]
    assert [scope for scope in scopes if "Microsoft.Web" in scope] == []
    assert any("Microsoft.EventGrid" in scope for scope in scopes)


# ---- the events' safety


def test_the_archive_alone_is_under_an_immutability_policy_and_only_if_days_are_given(variant: Variant) -> None:
    kind = "Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies"
    assert variant("default").of(kind) == []
    (policy,) = variant("guarded").of(kind)
    assert policy["properties"] == {"immutabilityPeriodSinceCreationInDays": 2555}
    assert policy["id"].endswith(f"{CONTAINERS}/archive/immutabilityPolicies/default")
    containers = {container["id"].rpartition("/")[2] for container in variant("guarded").of(kind.rpartition("/")[0])}
    assert containers - {
        container["id"].rpartition("/")[2] for container in variant("default").of(kind.rpartition("/")[0])
    } == {"archive"}


def test_the_account_with_the_events_is_locked_unless_disabled(variant: Variant) -> None:
    (lock,) = variant("default").of("Microsoft.Authorization/locks")
    assert lock["id"].startswith(f"{GROUP}/providers/{DATA}/")
    assert lock["properties"]["level"] == "CanNotDelete"
    assert variant("small").of("Microsoft.Authorization/locks") == []


@pytest.mark.parametrize("name", VARIANTS)
def test_deleted_data_can_be_restored_and_every_region_supports_the_accounts(name: str, variant: Variant) -> None:
    accounts = variant(name).of("Microsoft.Storage/storageAccounts")
    assert [account["sku"]["name"] for account in accounts] == ["Standard_LRS"] * (3 if name in SHOWN else 2)
    for service in variant(name).of("Microsoft.Storage/storageAccounts/blobServices"):
        for policy in ("deleteRetentionPolicy", "containerDeleteRetentionPolicy"):
            assert service["properties"][policy] == {"enabled": True, "days": 7}


# ---- closed networks


def targets(found: Snapshot) -> Mapping[str, tuple[str, str]]:
    """Return the group id and the target of each private endpoint, by its name."""
    links = {
        endpoint["name"]: endpoint["properties"]["privateLinkServiceConnections"][0]["properties"]
        for endpoint in found.of("Microsoft.Network/privateEndpoints")
    }
    return {
        name.removeprefix("pep-lineage-"): (link["groupIds"][0], link["privateLinkServiceId"].rpartition("/")[2])
        for name, link in links.items()
    }


STORAGE_TARGETS = {
    f"{prefix}{service}": (service, account.rpartition("/")[2])
    for prefix, account in (("", DATA), ("receiver-", OWN))
    for service in ("blob", "queue", "table")
}
RECEIVER_TARGETS = {
    "receiver": ("sites", "func-lineage-receiver-mz35fqtkh47iw"),
    "receiver-staging": ("sites-staging", "func-lineage-receiver-mz35fqtkh47iw"),
}
WORKER_TARGET = {"worker": ("sites", "func-lineage-worker-mz35fqtkh47iw")}


def test_a_closed_network_reaches_storage_purview_and_the_apps_privately(variant: Variant) -> None:
    found = variant("closed")
    assert targets(found) == {**STORAGE_TARGETS, **RECEIVER_TARGETS, **WORKER_TARGET, "purview": ("account", "acme")}
    for account in found.of("Microsoft.Storage/storageAccounts"):
        assert account["properties"]["publicNetworkAccess"] == "Disabled"
        assert account["properties"]["networkAcls"] == {"bypass": "AzureServices", "defaultAction": "Deny"}
    assert [found.body(app)["publicNetworkAccess"] for app in ("receiver", "worker")] == ["Disabled"] * 2
    zones = len(found.of("Microsoft.Network/privateDnsZones"))
    assert zones == len({"apps", "blob", "purview", "queue", "table"})
    assert len(found.of("Microsoft.Network/privateDnsZones/virtualNetworkLinks")) == zones
    assert len(found.of("Microsoft.Network/privateEndpoints/privateDnsZoneGroups")) == len(targets(found))


@pytest.mark.parametrize("name", VARIANTS)
def test_only_event_grid_may_call_a_public_worker(name: str, variant: Variant) -> None:
    found = variant(name)
    site = found.body("worker")["siteConfig"]
    assert site["ipSecurityRestrictionsDefaultAction"] == "Deny"
    rules = [
        (ip_security_restriction["tag"], ip_security_restriction["ipAddress"], ip_security_restriction["action"])
        for ip_security_restriction in site["ipSecurityRestrictions"]
    ]
    webhook = found.outputs["DELIVERY"] == "eventGrid"
    assert rules == ([("ServiceTag", "AzureEventGrid", "Allow")] if webhook else [])
    assert found.body("worker")["publicNetworkAccess"] == ("Enabled" if webhook or name == "flex" else "Disabled")


def test_addresses_limit_who_sends_events_and_who_deploys(variant: Variant) -> None:
    found = variant("guarded")
    (slot,) = found.of("Microsoft.Web/sites/slots")
    for site in (found.body("receiver")["siteConfig"], slot["properties"]["siteConfig"]):
        rules = [
            (ip_security_restriction["tag"], ip_security_restriction["ipAddress"])
            for ip_security_restriction in site["ipSecurityRestrictions"]
        ]
        assert rules == [("Default", "203.0.113.0/24"), ("ServiceTag", "ApplicationInsightsAvailability")]
        assert site["ipSecurityRestrictionsDefaultAction"] == "Deny"
    for app in ("receiver", "worker"):
        site = found.body(app)["siteConfig"]
        assert [
            scm_ip_security_restriction["ipAddress"]
            for scm_ip_security_restriction in site["scmIpSecurityRestrictions"]
        ] == ["198.51.100.7/32"]
        assert site["scmIpSecurityRestrictionsDefaultAction"] == "Deny"
    site = variant("default").body("receiver")["siteConfig"]
    for setting in ("ipSecurityRestrictionsDefaultAction", "scmIpSecurityRestrictionsDefaultAction"):
        assert site[setting] == "Allow"


def test_a_token_of_a_named_application_is_asked_for_beside_the_key(variant: Variant) -> None:
    """A key is still needed: the functions keep authLevel function (tests/test_function_folders.py)."""
    found = variant("guarded")
    settings = [config for kind in ("config", "slots/config") for config in found.of(f"Microsoft.Web/sites/{kind}")]
    auth = [setting for setting in settings if setting["name"].endswith("/authsettingsV2")]
    assert [config["name"].split("/")[1:-1] for config in auth] == [[], ["staging"]]
    for each in auth:
        assert "-receiver-" in each["name"], "Event Grid calls the worker without a token"
        validation = each["properties"]["globalValidation"]
        assert validation == {"requireAuthentication": True, "unauthenticatedClientAction": "Return401"}
        provider = each["properties"]["identityProviders"]["azureActiveDirectory"]
        application = VARIANTS["guarded"]["entraApplicationId"]
        assert provider["registration"]["clientId"] == application
        assert provider["validation"]["allowedAudiences"] == [application, f"api://{application}"]
        policy = provider["validation"]["defaultAuthorizationPolicy"]
        assert policy == {"allowedApplications": VARIANTS["guarded"]["entraCallers"]}
    sites = [
        config["name"] for name in ("default", "closed") for config in variant(name).of("Microsoft.Web/sites/config")
    ]
    assert not [name for name in sites if name.endswith("authsettingsV2")]


def subnets(snapshot: Snapshot) -> Mapping[str, Mapping[str, Any]]:
    (network,) = snapshot.of("Microsoft.Network/virtualNetworks")
    assert "subnets" not in network["properties"], "a list of them deletes those that others have made"
    parts = snapshot.of("Microsoft.Network/virtualNetworks/subnets")
    return {part["name"].rpartition("/")[2]: part["properties"] for part in parts}


def test_our_own_network_has_three_guarded_subnets_to_which_others_can_be_added(variant: Variant) -> None:
    created_subnets = subnets(variant("closed"))
    assert {name: subnet["addressPrefix"] for name, subnet in created_subnets.items()} == {
        "apps": "10.71.0.0/26",
        "endpoints": "10.71.0.64/26",
        "operators": "10.71.0.128/26",
    }
    assert created_subnets["apps"]["delegations"][0]["properties"]["serviceName"] == "Microsoft.Web/serverFarms"
    assert (
        created_subnets["endpoints"]["defaultOutboundAccess"]
        is created_subnets["operators"]["defaultOutboundAccess"]
        is False
    )
    (group,) = variant("closed").of("Microsoft.Network/networkSecurityGroups")
    assert {subnet["networkSecurityGroup"]["id"] for subnet in created_subnets.values()} == {group["id"]}


def test_subnets_get_the_company_s_gateway_routes_and_rules(variant: Variant) -> None:
    parameters, created_subnets = VARIANTS["hooked"], subnets(variant("hooked"))
    assert variant("hooked").of("Microsoft.Network/networkSecurityGroups") == []
    assert {subnet["networkSecurityGroup"]["id"] for subnet in created_subnets.values()} == {
        parameters["networkSecurityGroupId"]
    }
    for name in ("apps", "operators"):
        assert created_subnets[name]["natGateway"]["id"] == parameters["natGatewayId"]
        assert created_subnets[name]["routeTable"]["id"] == parameters["routeTableId"]
    assert not {"natGateway", "routeTable"} & set(created_subnets["endpoints"])


def test_a_given_network_is_used_and_not_created(variant: Variant) -> None:
    found = variant("given")
    assert [
        resource["type"] for resource in found.resources if "privateDnsZones" in resource["type"].split("/")[1]
    ] == []
    assert found.of("Microsoft.Network/virtualNetworks") == []
    parameters = VARIANTS["given"]
    for endpoint in found.of("Microsoft.Network/privateEndpoints"):
        assert endpoint["properties"]["subnet"]["id"] == parameters["endpointsSubnetId"]
    for app in ("receiver", "worker"):
        body = found.body(app)
        assert body["virtualNetworkSubnetId"] == parameters["appsSubnetId"]
        assert body["outboundVnetRouting"] == {"applicationTraffic": True}
        assert body["publicNetworkAccess"] == "Disabled", "nobody calls the worker"
    assert targets(found) == {**STORAGE_TARGETS, **RECEIVER_TARGETS, **WORKER_TARGET}
    groups = found.of("Microsoft.Network/privateEndpoints/privateDnsZoneGroups")
    for group in groups:
        assert (
            str(parameters["dnsZonesGroupId"])
            in group["properties"]["privateDnsZoneConfigs"][0]["properties"]["privateDnsZoneId"]
        )


@pytest.mark.parametrize(
    "name", [name for name in VARIANTS if name not in {"closed", "given", "hooked", "shown-closed"}]
)
def test_without_a_private_network_no_network_resource_is_created(name: str, variant: Variant) -> None:
    assert [
        resource["type"] for resource in variant(name).resources if resource["type"].startswith("Microsoft.Network/")
    ] == []
    assert {
        account["properties"]["publicNetworkAccess"]
        for account in variant(name).of("Microsoft.Storage/storageAccounts")
    } == {"Enabled"}


# ---- clouds


@pytest.mark.parametrize("name", DEDICATED)
def test_no_setting_contains_an_address_of_the_public_cloud(name: str, variant: Variant) -> None:
    found = variant(name)
    assert account_of(found.settings("worker")["AzureWebJobsStorage__blobServiceUri"])
    for app in ("receiver", "worker"):
        for setting, value in found.settings(app).items():
            if "windows.net" in value or "purview.azure." in value:
                assert "environment().name" in value, setting
