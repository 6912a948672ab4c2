"""Rules of the templates: no keys, no role that the code does not need, no unused setting."""

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from azure.data.tables import TableClient, TableServiceClient
from azure.storage.blob import BlobClient, BlobLeaseClient, BlobServiceClient, ContainerClient

from shared.errors import Refused
from shared.ingest.receiver import note_refusal
from shared.openlineage.selection import EventFilter, GlobFilter
from shared.settings.reading import load
from shared.settings.table import SETTINGS
from shared.storage.memory import MemoryStorage
from shared.storage.port import Operation, Row
from tests.infra.azure_roles import BLOB, BLOB_OWNER, IDS, QUEUE, TABLE, TELEMETRY
from tests.infra.bicep import read
from tests.support.events import event, write
from tests.support.receiving import receive
from throughline.cli.checks.azure import reading

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
FILES = {path.relative_to(INFRA).as_posix(): path.read_text() for path in sorted(INFRA.rglob("*.bicep"))}
FUNCTIONS = {path.parent.name: json.loads(path.read_text()) for path in ROOT.glob("*/function.json")}
APP_SETTINGS = FILES["modules/functions.bicep"]


def resource_bodies(kind: str) -> list[str]:
    """Return the texts of all resources of this type that are created, not only referred to."""
    return [
        resource_body
        for text in FILES.values()
        for resource_body in re.findall(
            rf"^resource \w+ '{re.escape(kind)}@[\d-]+(?:-preview)?' = (?!existing).*?^[}}\]]$",
            text,
            re.DOTALL | re.MULTILINE,
        )
    ]


# ---- keys


SECRETS = (
    r"AccountKey=|SharedAccessKey|DefaultEndpointsProtocol|BEGIN .*PRIVATE KEY|sig=[A-Za-z0-9%]{20}|@secure\("
    r"|InstrumentationKey"
)


@pytest.mark.parametrize("path", [*INFRA.rglob("*.*"), ROOT / "azure.yaml"], ids=lambda path: path.name)
def test_no_file_holds_a_key_or_a_connection_string(path: Path) -> None:
    assert not re.search(SECRETS, path.read_text())


def test_keys_are_read_only_for_the_event_grid_subscription() -> None:
    """Event Grid calls the blob trigger's webhook with a key that the platform creates."""
    assert [name for name, text in FILES.items() if "listKeys" in text] == ["subscription.bicep"]
    assert read(INFRA / "subscription.bicep").outputs == set()


def test_no_output_contains_a_secret() -> None:
    secret = re.compile(r"key|secret|password|sas", re.IGNORECASE)
    assert not [name for path in INFRA.rglob("*.bicep") for name in read(path).outputs if secret.search(name)]


def test_storage_accepts_identities_only_over_tls_and_nothing_is_public() -> None:
    (account,) = resource_bodies("Microsoft.Storage/storageAccounts")
    for line in (
        "allowSharedKeyAccess: false",
        "allowBlobPublicAccess: false",
        "minimumTlsVersion: 'TLS1_2'",
        "supportsHttpsTrafficOnly: true",
        "publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'",
    ):
        assert line in account
    (containers,) = resource_bodies("Microsoft.Storage/storageAccounts/blobServices/containers")
    assert "publicAccess: 'None'" in containers


def test_apps_use_an_identity_over_https_and_accept_no_passwords() -> None:
    sites = resource_bodies("Microsoft.Web/sites") + resource_bodies("Microsoft.Web/sites/slots")
    assert len(sites) == 2  # the apps, and the receiver's slot
    for site in sites:
        for line in ("type: 'UserAssigned'", "properties: union(bodies[", "siteConfig: union(site["):
            assert line in site
    common = APP_SETTINGS.partition("var bodies = [")[2].partition("resource sites")[0]
    for line in ("httpsOnly: true", "minTlsVersion: '1.2'", "scmMinTlsVersion: '1.2'", "ftpsState: 'Disabled'"):
        assert line in common
    kind = "basicPublishingCredentialsPolicies"
    policies = [*resource_bodies(f"Microsoft.Web/sites/{kind}"), *resource_bodies(f"Microsoft.Web/sites/slots/{kind}")]
    assert len(policies) == 4
    assert all("allow: false" in policy for policy in policies)


def test_telemetry_needs_a_role() -> None:
    (component,) = resource_bodies("Microsoft.Insights/components")
    assert "DisableLocalAuth: true" in component
    assert "Authorization=AAD" in APP_SETTINGS


def test_the_receiver_always_has_a_running_instance() -> None:
    """Always On with dedicated machines, an always-ready instance without them."""
    (sites,) = resource_bodies("Microsoft.Web/sites")
    assert "flex ? {} : { alwaysOn: true }" in sites
    receiver = APP_SETTINGS.partition("name: 'receiver'")[2].partition("name: 'worker'")[0]
    assert "alwaysReady: [{ name: 'http', instanceCount: readyReceivers }]" in receiver


# ---- settings

HOST_SETTINGS = {
    "AzureWebJobsStorage__queueServiceUri": "the host's blob trigger",
    "AzureWebJobsStorage__credential": "makes the others refer to a managed identity",
    "APPLICATIONINSIGHTS_AUTHENTICATION_STRING": "with which identity",
    "AzureFunctionsWebHost__hostid": "the host's id: app and slot would get the same from a long name",
    "FUNCTIONS_EXTENSION_VERSION": "the host's version",
    "FUNCTIONS_WORKER_RUNTIME": "Python, on a dedicated plan",
    "PYTHON_THREADPOOL_THREAD_COUNT": "how many functions run at once",
    "SCM_DO_BUILD_DURING_DEPLOYMENT": "off: the package is complete",
    "WEBSITE_HEALTHCHECK_MAXPINGFAILURES": "after so many minutes an instance without an answer gets no requests",
    "WEBSITE_RUN_FROM_PACKAGE": "the package is mounted, on a dedicated plan",
}
"""Settings that the platform reads, and their purpose."""

NEVER_SET = {"AzureWebJobsStorage", "THROUGHLINE_CATALOG_TOKEN", "THROUGHLINE_CATALOG_USER"}
"""A connection string, a fixed token, a user: in Azure identities replace them. For an Apache Atlas the last two are
given by `settings`, the token as a reference to a Key Vault.
"""

_NAME = re.compile(
    r"(?:^|\{)\s+((?:AzureWebJobsStorage|APPLICATIONINSIGHTS|FUNCTIONS|PYTHON|SCM|THROUGHLINE|WEBSITE)_\w+):",
    re.MULTILINE,
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
DECIDED = dict(re.findall(r"^\s+(THROUGHLINE_\w+): (?:string\()?(\w+)", FILES["main.bicep"], re.MULTILINE))
"""Settings that have their own parameter, and its name."""
SET = set(_NAME.findall(APP_SETTINGS)) | set(DECIDED) | {"AzureFunctionsWebHost__hostid"}


def test_the_template_sets_exactly_the_settings_that_the_code_reads() -> None:
    read_by_code = {setting.name for setting in SETTINGS}
    unread_settings = SET - read_by_code - set(HOST_SETTINGS)
    assert not unread_settings, f"infra/ sets settings that shared/settings/table.py does not read: {unread_settings}"
    dropped_settings = set(HOST_SETTINGS) - SET
    assert not dropped_settings, (
        f"HOST_SETTINGS names settings that functions.bicep does not set any more: {dropped_settings}"
    )
    assert not SET & NEVER_SET, "a key or a token: in Azure identities replace them"
    needed = {setting.name for setting in SETTINGS if setting.default is None or "__" in setting.name}
    missing = needed - SET - NEVER_SET
    assert not missing, f"shared/settings/table.py needs settings that infra/ does not set: {missing}"


def test_parameters_for_settings_have_the_defaults_of_the_settings_also_under_azd() -> None:
    by_azd = dict(re.findall(r"^param (\w+) = .*?, '([^']*)'\)", (INFRA / "main.bicepparam").read_text(), re.MULTILINE))
    assert set(DECIDED) >= {"THROUGHLINE_COLLECTION", "THROUGHLINE_MAX_CATALOG_RATE"}
    for name, parameter in DECIDED.items():
        (default,) = re.findall(rf"^param {parameter} \w+ = '?([^'\n]*)'?$", FILES["main.bicep"], re.MULTILINE)
        is_switch = f"{name}: {parameter} ? " in FILES["main.bicep"]  # off is no text
        assert default == ("false" if is_switch else BY_NAME[name].default)
        assert by_azd[parameter] == default


def test_any_other_setting_can_be_given_as_a_parameter() -> None:
    """A setting with a default may be missing in the template: `settings` passes it on, and overrides the template."""
    assert "settings: union(decided, settings)" in FILES["main.bicep"]
    assert "filter(items(settings), " in APP_SETTINGS
    optional = {setting.name for setting in SETTINGS} - SET
    page = (ROOT / "docs/reference/settings.md").read_text()
    assert [name for name in sorted(optional) if f"| `{name}` |" not in page] == [], (
        "describe it in docs/reference/settings.md"
    )


@pytest.mark.parametrize("catalog", [False, True])
def test_the_settings_are_valid_for_the_code(catalog: bool) -> None:
    values = {
        "AzureWebJobsStorage__blobServiceUri": "https://stabc.blob.core.windows.net/",
        "AzureWebJobsStorage__tableServiceUri": "https://stabc.table.core.windows.net/",
        "THROUGHLINE_STORAGE__blobServiceUri": "https://stabc.blob.core.windows.net/",
        "THROUGHLINE_STORAGE__tableServiceUri": "https://stabc.table.core.windows.net/",
        "THROUGHLINE_CATALOG_ENDPOINT": "https://acme.purview.azure.com/datamap/api/atlas/v2",
        **{name: setting.default or "" for name, setting in BY_NAME.items() if name in DECIDED},
        "THROUGHLINE_DOCUMENT": "true",
        "THROUGHLINE_REDACT": "True",  # as Bicep's string() writes it
    }
    environment = {name: values.get(name, "x") for name in SET if catalog or not name.startswith("THROUGHLINE_CATALOG")}
    settings = load(catalog=catalog, environment=environment)
    assert settings.storage.client_id == "x"
    assert settings.storage.connection_string == ""
    assert (settings.catalog is not None) == catalog


def test_only_the_worker_gets_settings_of_the_catalog() -> None:
    """The receiver gets no credentials, neither the catalog's nor the canary's, with any `settings`."""
    length = re.search(
        r"each => app\.name == 'worker' \|\| !contains\(ofWorker, take\(each\.key, (\d+)\)\)", APP_SETTINGS
    )
    assert length
    prefixes = re.findall(r"'(\w+)'", APP_SETTINGS.partition("var ofWorker = [")[2].partition("]")[0])
    assert {len(prefix) for prefix in prefixes} == {int(length[1])}
    kept_names = {setting.name for setting in SETTINGS if setting.name.startswith(tuple(prefixes))}
    assert kept_names >= {"THROUGHLINE_CATALOG_TOKEN", "THROUGHLINE_CANARY_KEY"}
    assert not {setting.name for setting in SETTINGS if setting.of_receiver} & kept_names
    worker = APP_SETTINGS.partition("name: 'worker'")[2].partition("\n]")[0]
    assert APP_SETTINGS.count("THROUGHLINE_CATALOG_ENDPOINT") == worker.count("THROUGHLINE_CATALOG_ENDPOINT") == 1


def switched_off(app: str) -> set[str]:
    """Return the functions that an app does not run."""
    other_settings = APP_SETTINGS.partition(f"name: '{app}'")[2].partition("others: [")[2].partition("]")[0]
    return set(re.findall(r"'(\w+)'", other_settings))


OTHER_PACKAGE = {"lineage_function"}


def running_in(app: str) -> set[str]:
    """Return the functions that an app runs."""
    return set(FUNCTIONS) - switched_off(app) - OTHER_PACKAGE


def test_each_function_runs_in_one_app() -> None:
    """That of the page and the API is in a package of its own (tests/throughline/test_package.py)."""
    assert running_in("receiver") | running_in("worker") == set(FUNCTIONS) - OTHER_PACKAGE
    assert not running_in("receiver") & running_in("worker")
    triggers = {name: trigger(name)["type"] for name in set(FUNCTIONS) - OTHER_PACKAGE}
    assert running_in("receiver") == {name for name, kind in triggers.items() if kind == "httpTrigger"}


def trigger(name: str) -> dict[str, Any]:
    """Return the trigger binding of a function."""
    trigger_binding: dict[str, Any]
    (trigger_binding,) = [binding for binding in FUNCTIONS[name]["bindings"] if binding["type"].endswith("Trigger")]
    return trigger_binding


def test_every_binding_s_connection_is_set() -> None:
    connections = {
        binding["connection"]
        for config in FUNCTIONS.values()
        for binding in config["bindings"]
        if "connection" in binding
    }
    assert connections
    for connection in connections:
        assert {
            f"{connection}__{part}" for part in ("blobServiceUri", "queueServiceUri", "credential", "clientId")
        } <= SET


def test_the_topic_s_subscription_notifies_the_blob_trigger_of_its_container() -> None:
    subscription = FILES["subscription.bicep"]
    (name,) = [function_name for function_name in FUNCTIONS if trigger(function_name)["type"] == "blobTrigger"]
    container = trigger(name)["path"].partition("/")[0]
    assert f"functionName=Host.Functions.{name}'" in subscription
    assert f"subjectBeginsWith: '/blobServices/default/containers/{container}/'" in subscription
    assert f"containers: concat(['{container}', " in FILES["main.bicep"]


# ---- roles

CALLS = {
    **dict.fromkeys(
        ("_blobs.send", "list_blobs", "walk_blobs", "create_container", "acquire", "renew", "release"), BLOB
    ),
    **dict.fromkeys(("_tables.send", "create_table_if_not_exists"), TABLE),
}
"""The requests of shared/storage, its own and the SDK's, and the role that allows them."""
NO_CALL = {"get_blob_client", "get_container_client"}
"""They create an object without a request."""
CLIENTS = (BlobServiceClient, BlobClient, ContainerClient, BlobLeaseClient, TableServiceClient, TableClient)
HOST_NEEDS = {
    "httpTrigger": {BLOB_OWNER, TABLE},
    "timerTrigger": {BLOB_OWNER, TABLE},
    "blobTrigger": {BLOB_OWNER, QUEUE, TABLE},
}
"""The roles that the host needs in its own account: for keys, leases and receipts in blobs, the queue of found blobs,
and diagnostic events in a table:
https://learn.microsoft.com/azure/azure-functions/functions-reference#connecting-to-host-storage-with-an-identity
"""
ROLES = json.loads((INFRA / "roles.json").read_text())


def storage_calls() -> set[str]:
    """Return the services to which the adapter sends requests, and the methods of the SDK's clients that it calls."""
    tree = ast.parse((ROOT / "shared/storage/azure.py").read_text())
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {func.attr for func in called if isinstance(func, ast.Attribute)}
    own_names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    sent_calls = {ast.unparse(func).removeprefix("self.") for func in called if ast.unparse(func).endswith(".send")}
    of_the_sdk = {name for name in named if any(hasattr(client, name) for client in CLIENTS)}
    return sent_calls | of_the_sdk - (own_names - set(CALLS))


def granted(app: str, *scopes: str) -> set[str]:
    """Return the roles of an app on scopes of a kind."""
    return {role["name"] for role in ROLES if role["to"] == app and role["on"] in scopes}


def test_every_call_of_the_storage_adapter_has_its_role() -> None:
    assert storage_calls() - NO_CALL == set(CALLS)


def test_the_worker_has_exactly_the_roles_that_code_and_host_need() -> None:
    host = set.union(*(HOST_NEEDS[trigger(name)["type"]] for name in running_in("worker")))
    assert granted("worker", "storage") == host
    assert {CALLS[call] for call in storage_calls() & set(CALLS)} <= host | {
        BLOB
    }  # an owner has all rights of a contributor
    assert {role["to"] for role in ROLES} == {"receiver", "worker", "lineage", "topic", "operators"}
    assert [role for role in ROLES if role["to"] == "worker" and role["on"] not in {"storage", "insights"}] == []


def test_the_receiver_s_host_uses_an_account_of_its_own() -> None:
    host = set.union(*(HOST_NEEDS[trigger(name)["type"]] for name in running_in("receiver")))
    assert granted("receiver", "receiverStorage") == host
    assert granted("receiver", "storage") == set()


class Noting(MemoryStorage):
    """Storage that records the containers and tables written to."""

    def __init__(self) -> None:
        super().__init__()
        self.containers: set[str] = set()
        self.tables: set[str] = set()

    def put_new(self, container: str, name: str, data: bytes) -> bool:
        self.containers.add(container)
        return super().put_new(container, name, data)

    def insert(self, table: str, row: Row) -> str | None:
        self.tables.add(table)
        return super().insert(table, row)

    def upsert(self, table: str, row: Row) -> str:
        self.tables.add(table)
        return super().upsert(table, row)

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        self.tables.add(table)
        return super().transact(table, operations)


def test_the_receiver_has_rights_on_exactly_the_tables_and_containers_that_it_writes() -> None:
    """With a stored, an ignored, an excluded and a refused event. The template creates the containers and tables that
    it may use.
    """
    storage = Noting()
    idle = event("idle", "RUNNING", "10:00:00", application="app")
    for body in (*write("a", "app", "10:00", "/a"), idle):
        receive(storage, body, most_bytes=10**6)
    exclude = EventFilter(jobs=GlobFilter(exclude=("*",)))
    receive(storage, write("b", "app", "10:00", "/b")[1], most_bytes=10**6, selection=exclude)
    with pytest.raises(Refused) as refusal:
        receive(storage, b"{", most_bytes=10**6)
    note_refusal(storage, b"{", refusal.value)
    own_roles = [row for row in ROLES if row["to"] == "receiver"]
    rows = {kind: {row["of"] for row in own_roles if row["on"] == kind} for kind in ("container", "table")}
    assert rows == {"container": storage.containers, "table": storage.tables}
    assert (granted("receiver", "container"), granted("receiver", "table")) == ({BLOB}, {TABLE})
    main = FILES["main.bicep"]
    assert f"containers: concat({sorted(storage.containers)}, withLineage" in main
    assert f"tables: {sorted(storage.tables)}\n" in main


def test_names_of_roles_match_their_ids() -> None:
    assert {role["name"]: role["role"] for role in ROLES} == IDS
    assert {role["on"] for role in ROLES if role["name"] == TELEMETRY} == {"insights"}
    assert all(role["reason"] for role in ROLES)


def test_roles_are_granted_from_the_table_only() -> None:
    places = [name for name, text in FILES.items() if "Microsoft.Authorization/roleAssignments" in text]
    assert places == ["modules/events.bicep", "modules/lineage-roles.bicep", "modules/roles.bicep"]
    texts = FILES["modules/roles.bicep"] + FILES["modules/lineage-roles.bicep"]
    kinds = set(re.findall(r"row\.on == '(\w+)'", texts))
    assert kinds == {role["on"] for role in ROLES} - {"queue"}


# ---- versions, logs and queries


def test_api_versions_are_well_formed_and_one_for_each_type() -> None:
    versions: dict[str, set[str]] = {}
    for path in INFRA.rglob("*.bicep"):
        for kind in read(path).resources.values():
            assert re.fullmatch(r"[Mm]icrosoft\.[A-Za-z]+(/[A-Za-z]+)+@20\d\d-\d\d-\d\d(-preview)?", kind), kind
            name, _, version = kind.partition("@")
            versions.setdefault(name, set()).add(version)
    assert {name: type_versions for name, type_versions in versions.items() if len(type_versions) > 1} == {}
    previews = {
        name for name, type_versions in versions.items() if any("preview" in version for version in type_versions)
    }
    assert previews == {"Microsoft.Insights/diagnosticSettings"}  # which never had another version


DOCTOR_READS = {
    "Microsoft.Web/sites": reading.WEB,
    "Microsoft.Storage/storageAccounts": reading.STORAGE,
    "Microsoft.EventGrid/systemTopics": reading.EVENT_GRID,
    "Microsoft.OperationalInsights/workspaces": reading.WORKSPACES,
    "Microsoft.Insights/components": reading.COMPONENTS,
    "Microsoft.Insights/actionGroups": reading.ACTION_GROUPS,
    "Microsoft.Insights/scheduledQueryRules": reading.ALERT_RULES,
}


def test_doctor_reads_resources_with_the_versions_of_the_template() -> None:
    pairs = [kind.split("@") for path in INFRA.rglob("*.bicep") for kind in read(path).resources.values()]
    assert {kind: version for kind, version in pairs if kind in DOCTOR_READS} == DOCTOR_READS


def test_modules_are_local_files_and_from_no_registry() -> None:
    assert not [name for name, text in FILES.items() if re.search(r"'(br|ts)[:/]", text)]


@pytest.mark.parametrize("scope", ["blobs", "eitherTopic"])
def test_logs_without_another_source_have_diagnostic_settings(scope: str) -> None:
    """Deletions and deliveries have; Application Insights has the apps' logs, Azure Monitor the accounts' metrics."""
    bodies = resource_bodies("Microsoft.Insights/diagnosticSettings")
    assert sum(f"scope: {scope}\n" in body for body in bodies) == 1


QUERIES = {path.name: path.read_text() for path in (INFRA / "queries").glob("*.kql")}


def test_the_workbook_has_every_query_and_alerts_use_no_other() -> None:
    shown_queries = [f"{row['query']}.kql" for row in json.loads((INFRA / "workbook.json").read_text())]
    assert sorted(shown_queries) == sorted(QUERIES)
    assert {f"{row['name']}.kql" for row in json.loads((INFRA / "alerts.json").read_text())["log"]} <= set(QUERIES)


@pytest.mark.parametrize("name", QUERIES)
def test_queries_match_the_messages_of_the_code(name: str) -> None:
    folders = ("shared", *FUNCTIONS)
    code = "\n".join(path.read_text() for folder in folders for path in (ROOT / folder).rglob("*.py"))
    begins = re.findall(r'startswith "([^"]+)"', QUERIES[name])
    assert [begin for begin in begins if f'"{begin}' not in code] == []
    named = re.findall(r'"(\w+_function)"', QUERIES[name])
    assert set(named) <= set(FUNCTIONS)
    assert begins or named or "_LogOperation" in QUERIES[name]  # the last is Azure's own
