"""Rules of PSRule for Azure and of Azure's built-in policies, checked by hand on the evaluated template.

Their tools need PowerShell or a subscription, so each rule is a function here, by the text of its page:
https://azure.github.io/PSRule.Rules.Azure/en/rules/, https://learn.microsoft.com/azure/governance/policy/samples/built-in-policies.
docs/operate/policies.md has the same rows.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.infra.snapshots import INFRA, Snapshot

Variant = Callable[[str], Snapshot]
Rule = Callable[[Snapshot], bool | None]
PAGE = (INFRA.parent / "docs/operate/policies.md").read_text()


def every(kind: str, holds: Callable[[Mapping[str, Any]], bool]) -> Rule:
    """A rule that all resources of a type keep; without one of them it says nothing."""

    def rule(template: Snapshot) -> bool | None:
        resources = template.of(kind)
        return all(holds(resource) for resource in resources) if resources else None

    return rule


def has(path: str, value: object) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a resource has this value at a path like properties.siteConfig.minTlsVersion."""

    def holds(resource: Mapping[str, Any]) -> bool:
        part: Any = resource
        for name in path.split("."):
            part = part.get(name, {}) if isinstance(part, Mapping) else {}
        return bool(part == value)

    return holds


ACCOUNT, BLOBS = "Microsoft.Storage/storageAccounts", "Microsoft.Storage/storageAccounts/blobServices"
CONTAINER, SITE, SLOT = f"{BLOBS}/containers", "Microsoft.Web/sites", "Microsoft.Web/sites/slots"
PLAN, TOPIC = "Microsoft.Web/serverfarms", "Microsoft.EventGrid/systemTopics"
COMPONENT, SUBNET = "Microsoft.Insights/components", "Microsoft.Network/virtualNetworks/subnets"


def tagged(template: Snapshot) -> bool:
    """Whether every resource of its own has a tag. Parts of a resource and extensions of one take none."""
    taking = [resource for resource in template.resources if "location" in resource]
    return bool(taking) and all("azd-env-name" in resource["tags"] for resource in taking)


def receiver_probed(template: Snapshot) -> bool:
    return bool(template.body("receiver")["siteConfig"].get("healthCheckPath") == "/")


def enough_machines(template: Snapshot) -> bool:
    return all(plan["sku"]["capacity"] >= 2 for plan in template.of(PLAN))


def authenticated(template: Snapshot) -> bool:
    return any(resource["name"].endswith("/authsettingsV2") for resource in template.of(f"{SITE}/config"))


def standard_or_larger(template: Snapshot) -> bool:
    return all(re.match(r"[SPI]", plan["sku"]["name"]) for plan in template.of(PLAN))


RULES: Mapping[str, Rule] = {
    "Azure.AppInsights.Workspace": every(
        COMPONENT, lambda resource: bool(resource["properties"]["WorkspaceResourceId"])
    ),
    "Azure.AppService.ARRAffinity": every(SITE, has("properties.clientAffinityEnabled", False)),
    "Azure.AppService.AlwaysOn": every(SITE, has("properties.siteConfig.alwaysOn", True)),
    "Azure.AppService.HTTP2": every(SITE, has("properties.siteConfig.http20Enabled", True)),
    "Azure.AppService.ManagedIdentity": every(SITE, has("identity.type", "UserAssigned")),
    "Azure.AppService.MinPlan": standard_or_larger,
    "Azure.AppService.MinTLS": every(SITE, has("properties.siteConfig.minTlsVersion", "1.2")),
    "Azure.AppService.PlanInstanceCount": enough_machines,
    "Azure.AppService.RemoteDebug": every(SITE, has("properties.siteConfig.remoteDebuggingEnabled", {})),
    "Azure.AppService.UseHTTPS": every(SITE, has("properties.httpsOnly", True)),
    "Azure.AppService.WebProbe": receiver_probed,
    "Azure.AppService.WebSecureFtp": every(SITE, has("properties.siteConfig.ftpsState", "Disabled")),
    "Azure.Resource.UseTags": tagged,
    "Azure.Storage.BlobAccessType": every(CONTAINER, has("properties.publicAccess", "None")),
    "Azure.Storage.BlobPublicAccess": every(ACCOUNT, has("properties.allowBlobPublicAccess", False)),
    "Azure.Storage.ContainerSoftDelete": every(BLOBS, has("properties.containerDeleteRetentionPolicy.enabled", True)),
    "Azure.Storage.Firewall": every(ACCOUNT, has("properties.networkAcls.defaultAction", "Deny")),
    "Azure.Storage.MinTLS": every(ACCOUNT, has("properties.minimumTlsVersion", "TLS1_2")),
    "Azure.Storage.SecureTransfer": every(ACCOUNT, has("properties.supportsHttpsTrafficOnly", True)),
    "Azure.Storage.SoftDelete": every(BLOBS, has("properties.deleteRetentionPolicy.enabled", True)),
    "Azure.Storage.UseReplication": every(ACCOUNT, lambda resource: "GRS" in resource["sku"]["name"]),
    "Azure.VNET.UseNSGs": every(SUBNET, lambda resource: bool(resource["properties"].get("networkSecurityGroup"))),
    "Azure.AppService.AvailabilityZone": every(PLAN, has("properties.zoneRedundant", True)),
    "policy: storage accounts should have infrastructure encryption": every(
        ACCOUNT, has("properties.encryption.requireInfrastructureEncryption", True)
    ),
    "policy: apps should have local authentication methods disabled for FTP and SCM deployments": every(
        f"{SITE}/basicPublishingCredentialsPolicies", has("properties.allow", False)
    ),
    "policy: function apps should have authentication enabled": authenticated,
    "policy: function apps should have client certificates enabled": every(
        SITE, has("properties.clientCertEnabled", True)
    ),
    "policy: Application Insights components should block non-Microsoft Entra ID based ingestion": every(
        COMPONENT, has("properties.DisableLocalAuth", True)
    ),
    "policy: Application Insights components should block log ingestion from public networks": every(
        COMPONENT, has("properties.publicNetworkAccessForIngestion", "Disabled")
    ),
    "policy: storage accounts should prevent shared key access": every(
        ACCOUNT, has("properties.allowSharedKeyAccess", False)
    ),
    "policy: storage accounts should disable public network access": every(
        ACCOUNT, has("properties.publicNetworkAccess", "Disabled")
    ),
    "policy: storage accounts should use customer-managed key for encryption": every(
        ACCOUNT, has("properties.encryption.keySource", "Microsoft.Keyvault")
    ),
    "policy: function apps should disable public network access": every(
        SITE, has("properties.publicNetworkAccess", "Disabled")
    ),
    "policy: subnets should be private": every(SUBNET, has("properties.defaultOutboundAccess", False)),
}
"""Each rule by its name on the page."""

ROW = re.compile(r"^\| `([^`]+)` \| (yes|no|-) \| (yes|no|-) \| (.*) \|$", re.MULTILINE)
WORDS = {True: "yes", False: "no", None: "-"}


def described() -> Mapping[str, tuple[str, str]]:
    """What the page says of each rule: a list of those that are always met, and a row for each other one."""
    general_part = PAGE.partition("## Met by every deployment")[2].partition("\n## ")[0]
    rows = {name: (default, closed) for name, default, closed, _ in ROW.findall(PAGE)}
    return {
        " ".join(name.split()): ("yes", "yes") for name in re.findall(r"`((?:Azure\.|policy:)[^`]+)`", general_part)
    } | rows


def test_the_page_names_each_rule_once() -> None:
    assert sorted(described()) == sorted(RULES)
    assert all(PAGE.count(f"`{name}`") <= 1 for name in RULES)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_met_where_the_page_says_so(name: str, variant: Variant) -> None:
    answers = tuple(WORDS[RULES[name](variant(template))] for template in ("default", "closed"))
    assert described()[name] == answers


def test_a_rule_that_is_not_met_has_a_reason_on_the_page() -> None:
    assert [name for name, *answers, reason in ROW.findall(PAGE) if "no" in answers and not reason.strip()] == []
    assert ROW.findall(PAGE)
