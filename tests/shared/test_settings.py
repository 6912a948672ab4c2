"""Settings: everything missing at once, no secret in a print, and one table that docs and templates follow."""

import json
from pathlib import Path

import pytest

from shared.bootstrap import assemble
from shared.errors import Misconfigured
from shared.settings import SETTINGS, load, named

ROOT = Path(__file__).parents[2]
LOCAL = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "THROUGHLINE_CATALOG_ENDPOINT": "https://contoso.purview.azure.com/datamap/api/atlas/v2",
}


def test_everything_missing_is_told_at_once() -> None:
    with pytest.raises(Misconfigured) as caught:
        load(catalog=True, environment={"THROUGHLINE_QUIET_MINUTES": "soon", "THROUGHLINE_BATCH": "0"})
    for name in (
        "AzureWebJobsStorage",
        "THROUGHLINE_CATALOG_ENDPOINT",
        "THROUGHLINE_QUIET_MINUTES",
        "THROUGHLINE_BATCH",
    ):
        assert name in str(caught.value)


def test_what_the_receiver_does_not_need_does_not_keep_it_from_taking_events() -> None:
    """A sender would lose them: no listener repeats what was answered by a 500."""
    wrong = {"THROUGHLINE_NAMES": "nowhere.toml", "THROUGHLINE_BATCH": "0", "THROUGHLINE_CATALOG_ENDPOINT": "x"}
    settings = load(catalog=False, environment={**LOCAL, **wrong})
    assert (settings.names, settings.batch, settings.catalog) == (None, 50, None)
    with pytest.raises(Misconfigured, match="THROUGHLINE_MAX_BODY_BYTES"):
        load(catalog=False, environment={**LOCAL, "THROUGHLINE_MAX_BODY_BYTES": "0"})


def test_what_is_given_counts_over_the_environment() -> None:
    settings = load(catalog=True, environment={**LOCAL, "THROUGHLINE_BATCH": "1"}, over={"THROUGHLINE_BATCH": "2"})
    assert settings.batch == 2


def test_a_place_is_told_apart_from_other_settings() -> None:
    assert named({"THROUGHLINE_NAMES": "x"})
    assert not named({"THROUGHLINE_NAMES": "x"}, place=True)
    assert all(named({name: "x"}, place=True) for name in LOCAL)


def test_the_receiver_needs_no_catalog() -> None:
    assert load(catalog=False, environment={"AzureWebJobsStorage": "AccountName=x"}).catalog is None


def test_data_can_lie_in_another_account_than_what_the_host_keeps() -> None:
    """The receiver's own account opens nothing but its keys: what it stores goes to the account of the data."""
    own = {
        "AzureWebJobsStorage__blobServiceUri": "https://own.blob.core.windows.net/",
        "AzureWebJobsStorage__tableServiceUri": "https://own.table.core.windows.net/",
        "AzureWebJobsStorage__clientId": "id",
    }
    data = {
        "THROUGHLINE_STORAGE__blobServiceUri": "https://data.blob.core.windows.net/",
        "THROUGHLINE_STORAGE__tableServiceUri": "https://data.table.core.windows.net/",
    }
    for environment in ({**own, **data}, {"AzureWebJobsStorage": "UseDevelopmentStorage=true", **data}):
        storage = load(catalog=False, environment=environment).storage
        assert storage.blob_endpoint == "https://data.blob.core.windows.net"
        assert storage.table_endpoint == "https://data.table.core.windows.net"
        assert storage.connection_string == ""
    assert load(catalog=False, environment={**own, **data}).storage.client_id == "id"
    assert load(catalog=False, environment=own).storage.blob_endpoint == "https://own.blob.core.windows.net"


@pytest.mark.parametrize("given", ["THROUGHLINE_STORAGE__blobServiceUri", "THROUGHLINE_STORAGE__tableServiceUri"])
def test_half_of_another_account_is_none(given: str) -> None:
    environment = {"AzureWebJobsStorage": "UseDevelopmentStorage=true", given: "https://data.example/"}
    with pytest.raises(Misconfigured, match="belong together: set both, or neither"):
        load(catalog=False, environment=environment)


def test_an_identity_does_instead_of_a_connection_string() -> None:
    settings = load(
        catalog=True,
        environment={
            "AzureWebJobsStorage__blobServiceUri": "https://a.blob.core.windows.net/",
            "AzureWebJobsStorage__tableServiceUri": "https://a.table.core.windows.net",
            "AzureWebJobsStorage__clientId": "id",
            "THROUGHLINE_CATALOG_ENDPOINT": LOCAL["THROUGHLINE_CATALOG_ENDPOINT"],
        },
    )
    assert settings.storage.blob_endpoint == "https://a.blob.core.windows.net"
    assert settings.catalog
    assert settings.catalog.client_id == "id"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("THROUGHLINE_CATALOG_ENDPOINT", "http://contoso.purview.azure.com"),
        ("THROUGHLINE_CATALOG_ENDPOINT", "contoso"),
        ("THROUGHLINE_MAX_BODY_BYTES", "1.5"),
        ("THROUGHLINE_END_TIMEOUT_MINUTES", "-1"),
        ("THROUGHLINE_UNSEEN_DAYS", "never"),
        ("THROUGHLINE_UNSEEN_DAYS", "1e12"),
        ("THROUGHLINE_QUIET_MINUTES", "nan"),
        ("THROUGHLINE_QUIET_MINUTES", "inf"),
        ("THROUGHLINE_BATCH", "10000"),
        ("AzureWebJobsStorage", "my storage account"),
        ("THROUGHLINE_INDIRECT_COLUMNS", "yes"),
        ("THROUGHLINE_OPERATIONS_IGNORE", "execute insert"),
        ("THROUGHLINE_OPERATIONS_IGNORE", "append_data;drop_table"),
        ("THROUGHLINE_OPERATIONS_IGNORE", "AppendData"),
        ("THROUGHLINE_OPERATIONS_IGNORE", "*"),
        ("THROUGHLINE_OPERATIONS_KEEP", "app.append_data"),
    ],
)
def test_a_wrong_value_is_named(name: str, value: str) -> None:
    with pytest.raises(Misconfigured, match=name):
        load(catalog=True, environment={**LOCAL, name: value})


def test_a_user_needs_a_password() -> None:
    user = {"THROUGHLINE_CATALOG_USER": "admin", "THROUGHLINE_CATALOG_TOKEN": ""}
    with pytest.raises(Misconfigured, match="needs a password"):
        load(catalog=True, environment={**LOCAL, **user})


def test_columns_of_a_plain_atlas_are_not_for_purview() -> None:
    settings = load(
        catalog=True,
        environment={
            **LOCAL,
            "THROUGHLINE_ATLAS_COLUMNS": "true",
            "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:1/datamap/api/atlas/v2",
            "THROUGHLINE_CATALOG_TOKEN": "t",
        },
    )
    with pytest.raises(Misconfigured, match="for a plain Apache Atlas"):
        assemble(settings)


def test_operations_are_listed_with_commas() -> None:
    settings = load(
        catalog=False,
        environment={
            **LOCAL,
            "THROUGHLINE_OPERATIONS_IGNORE": " execute_delete_command, drop_*,,alter_tabl?,",
            "THROUGHLINE_OPERATIONS_KEEP": " ",
        },
    )
    assert settings.operations_ignored == ("execute_delete_command", "drop_*", "alter_tabl?")
    assert settings.operations_kept == ()


def test_no_print_shows_a_secret() -> None:
    settings = load(
        catalog=True,
        environment={
            **LOCAL,
            "AzureWebJobsStorage": "AccountName=x;AccountKey=geheim",
            "THROUGHLINE_CATALOG_TOKEN": "geheim",
        },
    )
    assert "geheim" not in repr(settings)


def test_the_example_of_local_settings_is_complete_and_says_nothing_unknown() -> None:
    values = json.loads((ROOT / "local.settings.json.example").read_text())["Values"]
    load(catalog=True, environment=values)
    known = {setting.name for setting in SETTINGS} | {"FUNCTIONS_WORKER_RUNTIME"}
    assert set(values) <= known


def test_the_documentation_lists_every_setting() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    for setting in SETTINGS:
        assert f"`{setting.name}`" in text
        if setting.default:
            assert f"`{setting.default}`" in text
