"""`throughline doctor --catalog`, `purview grant`, `purview attributes`, on a catalog with simulated problems."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from typer.testing import CliRunner, Result

from shared.atlas.entities import ORIGIN_WORDS
from shared.atlas.types import MANAGED
from shared.bootstrap import Worker, account_at
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.account import AtlasTypes, PurviewAccount
from shared.catalog.connection.dialect import dialect_of, has_role, with_role
from shared.catalog.connection.transport import CredentialToken, RetryPolicy, StaticToken, SteadyAtlasClient
from shared.errors import CatalogRefused
from shared.naming.names import BUILT_IN
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from shared.sweeping.sweep import SweepOptions
from tests.support.placeholder_columns import TABLE, X, copy_run, deliver_all, publish_options
from tests.support.publishing import publish
from tests.support.troubled_catalog import TroubledCatalog
from throughline.cli.checks.catalog import KNOWN, check_catalog
from throughline.cli.checks.findings import CheckResult, CheckState
from throughline.cli.main import app
from throughline.local.catalog.server import CatalogServer

runner = CliRunner()
PUBLIC = "https://purview.azure.net/.default"
ANN = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def server(fresh_catalog: CatalogServer) -> CatalogServer:
    """With collections `sales` and, inside it, `lineage`."""
    for name, title, parent in (("sales", "Sales", "local"), ("lineage", "Spark lineage", "sales")):
        body = {"friendlyName": title, "parentCollection": {"referenceName": parent}}
        headers = {"Authorization": f"Bearer {fresh_catalog.token}"}
        url = f"{fresh_catalog.url}/account/collections/{name}"
        requests.put(url, json=body, headers=headers, timeout=60).raise_for_status()
    return fresh_catalog


def worker(endpoint: str, token: Any, collection: str = "lineage") -> Worker:
    parameters = dialect_of(endpoint).parameters
    authentication = StaticToken(token) if isinstance(token, str) else CredentialToken(token, scope=PUBLIC)
    retry_policy = RetryPolicy(tries=1, connect=0.5)
    client = SteadyAtlasClient(endpoint, authentication, retry_policy=retry_policy, parameters=parameters)
    return Worker(
        storage=MemoryStorage(),
        catalog=AtlasCatalog(client, collection=collection),
        account=PurviewAccount(client) if dialect_of(endpoint).is_purview else None,
        collection=collection,
        types=AtlasTypes(client),
        publishing=PublishOptions(),
        sweeping=SweepOptions(),
        names=BUILT_IN,
    )


def run(parts: Worker, *arguments: str) -> Result:
    return runner.invoke(app, arguments, obj=parts)


def checked(parts: Worker, *known_hosts: str) -> list[CheckResult]:
    """The doctor's findings on a network that resolves these names (without any: all)."""
    return list(check_catalog(parts, resolve=lambda host: host in known_hosts if known_hosts else True))


def last(parts: Worker, *known_hosts: str) -> CheckResult:
    return checked(parts, *known_hosts)[-1]


def grant(server: CatalogServer, *arguments: str, collection: str = "lineage") -> Result:
    owner = worker(server.endpoint, server.token)
    return run(owner, "purview", "grant", "--collection", collection, "--principal", ANN, *arguments)


def test_an_identity_with_all_roles_passes_all_checks(server: CatalogServer) -> None:
    steps = checked(worker(server.endpoint, server.token))
    assert [(step.subject, step.good) for step in steps] == [
        ("catalog network", True),
        ("catalog identity", True),
        ("collection", True),
        ("catalog role", True),
        ("scanned assets", True),
    ]
    entities = server.calls()["entities"]
    assert entities == 0, "the trial is gone"


def test_a_missing_role_is_reported_with_principal_and_collection(server: CatalogServer) -> None:
    step = last(worker(server.endpoint, f"{server.token}:{ANN}"))
    assert (step.subject, step.code) == ("catalog role", "catalog-role")
    assert "no role" in step.found
    assert "Data Curator" in step.means
    assert step.command == f"throughline purview grant --account {server.url} --collection lineage --principal {ANN}"


def test_an_identity_with_only_the_reader_role_is_reported_as_missing_the_role(server: CatalogServer) -> None:
    assert grant(server, "--role", "purview-reader").exit_code == 0
    step = last(worker(server.endpoint, f"{server.token}:{ANN}"))
    assert (step.subject, step.code) == ("catalog role", "catalog-role")
    assert "403" in step.found
    assert "--collection lineage" in step.command


def test_a_role_in_another_collection_is_reported_as_wrong_collection(server: CatalogServer) -> None:
    assert grant(server).exit_code == 0
    step = last(worker(server.endpoint, f"{server.token}:{ANN}", "sales"))
    assert (step.subject, step.code) == ("collection", "collection-wrong")
    assert "wrong collection" in step.found
    assert "lineage (Spark lineage)" in step.found


def test_a_collections_display_name_is_corrected_to_its_name(server: CatalogServer) -> None:
    step = last(worker(server.endpoint, server.token, "Spark lineage"))
    assert step.command == "export THROUGHLINE_COLLECTION=lineage"


def test_a_wrong_account_is_distinguished_from_a_missing_network(server: CatalogServer) -> None:
    parts = worker("https://nobody.purview.azure.com/datamap/api/atlas/v2", server.token)
    wrong, unreachable_check = last(parts, KNOWN), last(parts, "nowhere")
    assert (wrong.subject, wrong.code, "private DNS" in wrong.means) == ("catalog network", "catalog-name", True)
    assert (unreachable_check.subject, unreachable_check.code, "no network" in unreachable_check.found) == (
        "catalog network",
        "no-network",
        True,
    )


def test_a_token_of_another_tenant_is_a_wrong_account(server: CatalogServer) -> None:
    step = last(worker(server.endpoint, "of-another-tenant"))
    assert (step.subject, step.code) == ("catalog account", "catalog-tenant")
    assert "another tenant" in step.means


def test_an_account_behind_a_firewall_is_reported(server: CatalogServer) -> None:
    step = last(worker("http://127.0.0.1:9/datamap/api/atlas/v2", server.token))
    assert (step.subject, step.code) == ("catalog account", "catalog-away")
    assert "firewall" in step.means


class Credential:
    """Gives one token, and checks its scope."""

    def __init__(self, token: str = "") -> None:
        self.token = token

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        assert scopes == (PUBLIC,)
        if not self.token:
            raise ClientAuthenticationError("no credential works")
        return AccessToken(self.token, 0)


def token_with_claims(**claims: str) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"head.{body}.signature"


def test_the_identity_is_read_from_the_token(server: CatalogServer) -> None:
    parts = worker(server.endpoint, Credential(token_with_claims(oid=ANN, appid="app-1", tid="tenant-1", aud="x")))
    identity = next(step for step in checked(parts) if step.subject == "catalog identity")
    assert identity.found == f"application app-1, object id {ANN}, tenant tenant-1"


def test_a_missing_token_is_reported_with_ways_to_get_one(server: CatalogServer) -> None:
    step = last(worker(server.endpoint, Credential()))
    assert (step.subject, step.code) == ("catalog identity", "catalog-identity")
    assert all(way in step.means for way in ("AZURE_CLIENT_SECRET", "managed identity"))
    assert step.command == "az login"


def test_on_a_plain_atlas_only_the_write_is_checked(fresh_catalog: CatalogServer) -> None:
    steps = checked(worker(f"{fresh_catalog.url}/api/atlas/v2", fresh_catalog.token, ""))
    assert [step.subject for step in steps] == ["catalog role"]
    assert "credentials" in last(worker(f"{fresh_catalog.url}/api/atlas/v2", "wrong", "")).found


def test_doctor_ends_with_1_if_a_catalog_check_fails(server: CatalogServer) -> None:
    result = run(worker(server.endpoint, f"{server.token}:{ANN}"), "doctor", "--catalog")
    assert result.exit_code == 1
    assert "purview grant" in result.output
    assert run(worker(server.endpoint, server.token), "doctor", "--catalog").exit_code == 0


def test_a_grant_is_planned_first_and_then_takes_effect(server: CatalogServer) -> None:
    other_worker = worker(server.endpoint, f"{server.token}:{ANN}")
    deliver_all(other_worker.storage, [copy_run("one", (X,), (X,))])  # type: ignore[arg-type]  # is memory
    assert publish(other_worker.storage, other_worker.catalog, publish_options()).error != ""
    planned = grant(server, "--plan", collection="spark LINEAGE")
    assert planned.exit_code == 3
    assert f"+ {ANN} to the data curators of Spark lineage (lineage)" in planned.output
    assert not last(other_worker).good
    assert grant(server).exit_code == 0
    assert [step.code for step in checked(other_worker) if not step.good] == ["catalog-narrow"]
    assert "nothing to do" in grant(server).output
    assert grant(server, "--plan").exit_code == 0
    later_options = publish_options(now=lambda: datetime.now(UTC) + timedelta(hours=2))
    assert publish(other_worker.storage, other_worker.catalog, later_options).written == 1, (
        "the refused process is written now"
    )
    assert server.calls()["by_verb"]["PUT policystore/metadataPolicies/{policy}"] == 1


def test_without_a_role_in_the_root_scanned_assets_of_other_collections_are_missing(server: CatalogServer) -> None:
    """The printed commands, repeated, end with a role where all assets are."""
    other_worker = worker(server.endpoint, f"{server.token}:{ANN}")
    assert grant(server).exit_code == 0
    for collection in ("sales", "local"):
        step = last(other_worker)
        assert (step.subject, step.code) == ("scanned assets", "catalog-narrow")
        arguments = f"purview grant --account {server.url} --collection {collection} --principal {ANN}"
        assert step.command == f"throughline {arguments} --role purview-reader"
        assert grant(server, "--role", "purview-reader", collection=collection).exit_code == 0
    assert last(other_worker).good


def test_an_administrator_sees_whether_the_worker_may_read_the_root(server: CatalogServer) -> None:
    def reach(token: str) -> CheckResult:
        return list(check_catalog(worker(server.endpoint, token), worker=ANN, resolve=lambda _: True))[-1]

    assert grant(server).exit_code == 0
    narrow = reach(server.token)
    assert (narrow.code, narrow.state) == ("catalog-narrow", CheckState.BAD)
    assert "--collection local --principal" in narrow.command
    reach_result = reach(f"{server.token}:{ANN}")
    assert (reach_result.code, reach_result.state) == ("catalog-roles-hidden", CheckState.UNSEEN)
    assert reach_result.command.endswith("--role purview-reader --plan")
    assert grant(server, "--role", "purview-reader", collection="local").exit_code == 0
    assert reach(server.token).good
    assert reach(f"{server.token}:{ANN}").code == "catalog-roles-hidden", "a reader is no administrator"


def test_all_pages_of_the_collections_are_read(server: CatalogServer) -> None:
    account = worker(server.endpoint, server.token).account
    assert account is not None
    assert [collection.name for collection in account.collections()] == ["local", "sales", "lineage"]


def test_a_principal_without_the_right_to_grant_gets_the_portal_steps(server: CatalogServer) -> None:
    assert grant(server).exit_code == 0
    parts = worker(server.endpoint, f"{server.token}:{ANN}")
    result = run(parts, "purview", "grant", "--collection", "lineage", "--principal", "other")
    assert result.exit_code == 1
    assert "no administrator of Spark lineage" in result.output
    assert "Data curators" in result.output


def test_the_portal_steps_are_printed_without_a_call_to_the_account(server: CatalogServer) -> None:
    reads_before = server.calls()["reads"]
    result = grant(server, "--clicks")
    assert (result.exit_code, "Role assignments" in result.output) == (0, True)
    assert server.calls()["reads"] == reads_before


def test_an_unknown_collection_and_role_are_reported(server: CatalogServer) -> None:
    assert "visible: local (The local account), sales (Sales)" in grant(server, collection="nowhere").output
    assert grant(server, "--role", "king").exit_code == 2
    parts = replace(worker(server.endpoint, server.token), account=None)
    assert run(parts, "purview", "grant", "--collection", "x", "--principal", ANN).exit_code == 2


def policy(*rules: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "version": 3,
        "properties": {
            "attributeRules": list(rules),
            "collection": {"type": "CollectionReference", "referenceName": "c"},
            "parentCollectionName": "p",
        },
    }


GROUPS = [{"attributeName": "principal.microsoft.groups", "attributeValueIncludedIn": ["g"]}]
RULE = "purviewmetadatarole_builtin_data-curator:c"


def test_a_grant_adds_the_principal_and_changes_nothing_else() -> None:
    ids = [{"attributeName": "principal.microsoft.id", "attributeValueIncludedIn": ["somebody"]}]
    policy_before = policy({"id": RULE, "dnfCondition": [GROUPS, ids]}, {"id": "permission:c", "dnfCondition": []})
    role_after = with_role(policy_before, "data-curator", ANN)
    assert role_after["properties"]["attributeRules"][0]["dnfCondition"] == [
        GROUPS,
        [{"attributeName": "principal.microsoft.id", "attributeValueIncludedIn": ["somebody", ANN]}],
    ]
    assert role_after["properties"]["attributeRules"][1] == policy_before["properties"]["attributeRules"][1]
    assert not has_role(policy_before, "data-curator", ANN), "the policy that was read is not changed"
    assert with_role(role_after, "data-curator", ANN) == role_after


def test_a_role_held_only_by_groups_can_be_granted_to_a_principal() -> None:
    policy_after = with_role(policy({"id": RULE, "dnfCondition": [GROUPS]}), "data-curator", ANN)
    assert has_role(policy_after, "data-curator", ANN)
    assert GROUPS in policy_after["properties"]["attributeRules"][0]["dnfCondition"]


def test_a_role_without_holders_is_granted_together_with_inherited_rules() -> None:
    policy_after = with_role(policy({"id": "permission:c", "dnfCondition": []}), "data-curator", ANN)
    assert has_role(policy_after, "data-curator", ANN)
    rule, permission = policy_after["properties"]["attributeRules"]
    assert rule["dnfCondition"][1][0]["fromRule"] == "purviewmetadatarole_builtin_data-curator:p"
    assert permission["dnfCondition"][0][0]["fromRule"] == RULE


def test_the_group_of_managed_attributes_is_made_once(server: CatalogServer) -> None:
    owner = worker(server.endpoint, server.token)
    planned = run(owner, "purview", "attributes", "--plan")
    assert (planned.exit_code, "platform, workspace, job, link" in planned.output) == (3, True)
    assert run(owner, "purview", "attributes").exit_code == 0
    assert owner.types is not None
    (attribute_group,) = [definition for definition in owner.types.held() if definition["name"] == MANAGED]
    assert [attribute_def["name"] for attribute_def in attribute_group["attributeDefs"]] == list(ORIGIN_WORDS)
    second_result = run(owner, "purview", "attributes")
    assert (second_result.exit_code, "nothing to do" in second_result.output) == (0, True)


def test_a_foreign_type_of_the_same_name_is_not_changed(server: CatalogServer) -> None:
    owner = worker(server.endpoint, server.token)
    assert owner.types is not None
    owner.types.create([{"category": "ENTITY", "name": MANAGED, "superTypes": ["DataSet"], "attributeDefs": []}])
    result = run(owner, "purview", "attributes")
    assert (result.exit_code, f"another type of this catalog is called {MANAGED}" in result.output) == (1, True)


def test_purview_attributes_refuses_a_plain_atlas(fresh_catalog: CatalogServer) -> None:
    result = run(worker(f"{fresh_catalog.url}/api/atlas/v2", fresh_catalog.token, ""), "purview", "attributes")
    assert (result.exit_code, "only Purview has managed attributes" in result.output) == (2, True)


def test_an_account_is_found_by_its_endpoint_and_a_plain_atlas_is_none(server: CatalogServer) -> None:
    account = account_at(server.endpoint, server.token)
    assert account
    assert [collection.name for collection in account.collections()] == ["local", "sales", "lineage"]
    assert account_at(f"{server.url}/api/atlas/v2", server.token) is None


def test_an_expired_token_is_renewed_before_the_next_call(troubled_catalog: TroubledCatalog) -> None:
    credential = Credential(troubled_catalog.token)
    parts = worker(troubled_catalog.endpoint, credential)
    assert parts.catalog.find([TABLE]) == {}
    troubled_catalog.have_troubles("expire:every=1")
    with pytest.raises(CatalogRefused):
        parts.catalog.find([TABLE])
    troubled_catalog.have_troubles()
    credential.token = troubled_catalog.good_token()
    assert parts.catalog.find([TABLE]) == {}, "a credential is asked at each call, and itself keeps its token"
