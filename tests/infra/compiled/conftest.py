"""Tests of the compiled templates, which run only where the compiler is installed; the report's header says so.

In CI a test in tests/infra/test_references.py fails without it.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.infra.snapshots import INFRA, Snapshot, bicep, compiler, snapshot

collect_ignore_glob = [] if compiler() else ["test_*.py"]

_HUB = "/subscriptions/00000000-0000-0000-0000-000000000009/resourceGroups/hub"
_SUBNETS = f"{_HUB}/providers/Microsoft.Network/virtualNetworks/hub/subnets"
_PURVIEW = f"{_HUB}/providers/Microsoft.Purview/accounts/acme"
ALWAYS = {"environmentName": "lineage", "purviewAccountName": "acme"}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "flex": {"plan": "flex", "flexUpdate": "Recreate", "delivery": "queue"},
    "small": {
        "planSize": "B1",
        "deleteLock": False,
        "eventTopicName": "defenders-topic",
        "settings": {"THROUGHLINE_CATALOG_TOKEN": "reference", "THROUGHLINE_APPLICATION_IDLE_MINUTES": "30"},
    },
    "guarded": {
        "archiveImmutableDays": 2555,
        "allowedAddresses": ["203.0.113.0/24"],
        "deployAddresses": ["198.51.100.7/32"],
        "entraApplicationId": "00000000-0000-0000-0000-0000000000e1",
        "entraCallers": ["00000000-0000-0000-0000-0000000000e2"],
        "operatorsGroupId": "00000000-0000-0000-0000-0000000000e3",
    },
    "shown": {
        "lineageApplicationId": "00000000-0000-0000-0000-0000000000e4",
        "lineageGroups": ["00000000-0000-0000-0000-0000000000e5"],
        "lineageOrigins": ["https://wiki.example.com"],
    },
    "shown-closed": {
        "plan": "flex",
        "privateNetwork": True,
        "privateApps": True,
        "lineageApplicationId": "00000000-0000-0000-0000-0000000000e4",
        "lineageGroups": ["00000000-0000-0000-0000-0000000000e5"],
    },
    "closed": {"privateNetwork": True, "privateApps": True, "purviewAccountId": _PURVIEW},
    "hooked": {
        "privateNetwork": True,
        "privateApps": True,
        "delivery": "eventGrid",
        "natGatewayId": f"{_HUB}/providers/Microsoft.Network/natGateways/nat",
        "routeTableId": f"{_HUB}/providers/Microsoft.Network/routeTables/udr",
        "networkSecurityGroupId": f"{_HUB}/providers/Microsoft.Network/networkSecurityGroups/nsg",
    },
    "given": {
        "privateNetwork": True,
        "privateApps": True,
        "appsSubnetId": f"{_SUBNETS}/apps",
        "endpointsSubnetId": f"{_SUBNETS}/endpoints",
        "dnsZonesGroupId": _HUB,
        "routeAllTraffic": True,
        "alertEmail": "ann@example.com",
        "actionGroupIds": [f"{_HUB}/providers/Microsoft.Insights/actionGroups/duty"],
        "runbookUrl": "https://wiki.example.com/lineage",
        "monthlyBudget": 400,
        "budgetStart": "2026-12-01",
        "logReads": True,
    },
}
"""The parameters of the tested variants: each takes a second or two."""


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """main.bicep, compiled."""
    target = tmp_path_factory.mktemp("bicep") / "main.json"
    outcome = bicep("build", INFRA / "main.bicep", "--outfile", target)
    assert outcome.returncode == 0, outcome.stderr
    return target


@pytest.fixture(scope="session")
def variant(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Snapshot]:
    """Return the snapshot of a variant by its name."""

    @cache
    def find(name: str) -> Snapshot:
        return snapshot(tmp_path_factory.mktemp("snapshot") / name, template, {**ALWAYS, **VARIANTS[name]})

    return find
