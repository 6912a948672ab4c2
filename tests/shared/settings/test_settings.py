"""Settings: everything missing at once, no secret in a print, and one table that docs and templates follow."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from shared.bootstrap import assemble
from shared.errors import Misconfigured
from shared.settings.kinds import Setting, SettingSource
from shared.settings.reading import RECORDED, differing, load, named
from shared.settings.table import SETTINGS, SHADOW, rendered

ROOT = Path(__file__).parents[3]
PAGE = next(ROOT.glob("docs/**/settings.md"))
LOCAL = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "THROUGHLINE_CATALOG_ENDPOINT": "https://contoso.purview.azure.com/datamap/api/atlas/v2",
}


def test_all_missing_and_wrong_settings_are_reported_at_once() -> None:
    with pytest.raises(Misconfigured) as error_info:
        load(catalog=True, environment={"THROUGHLINE_APPLICATION_IDLE_MINUTES": "soon", "THROUGHLINE_MAX_BATCH": "0"})
    for name in (
        "AzureWebJobsStorage",
        "THROUGHLINE_CATALOG_ENDPOINT",
        "THROUGHLINE_APPLICATION_IDLE_MINUTES",
        "THROUGHLINE_MAX_BATCH",
    ):
        assert name in str(error_info.value)


def test_wrong_settings_that_the_receiver_does_not_need_do_not_stop_it() -> None:
    """Otherwise senders lose events: no listener repeats a request that was answered with 500."""
    wrong = {"THROUGHLINE_NAMES": "nowhere.toml", "THROUGHLINE_MAX_BATCH": "0", "THROUGHLINE_CATALOG_ENDPOINT": "x"}
    settings = load(catalog=False, environment={**LOCAL, **wrong})
    assert (settings.names, settings.batch, settings.catalog) == (None, 50, None)
    with pytest.raises(Misconfigured, match="THROUGHLINE_MAX_BODY_BYTES"):
        load(catalog=False, environment={**LOCAL, "THROUGHLINE_MAX_BODY_BYTES": "0"})


def test_given_settings_take_precedence_over_the_environment() -> None:
    settings = load(
        catalog=True, environment={**LOCAL, "THROUGHLINE_MAX_BATCH": "1"}, overrides={"THROUGHLINE_MAX_BATCH": "2"}
    )
    assert settings.batch == 2


def test_a_location_is_distinguished_from_other_settings() -> None:
    assert named({"THROUGHLINE_NAMES": "x"})
    assert not named({"THROUGHLINE_NAMES": "x"}, place=True)
    assert all(named({name: "x"}, place=True) for name in LOCAL)


def test_the_receiver_needs_no_catalog() -> None:
    assert load(catalog=False, environment={"AzureWebJobsStorage": "AccountName=x"}).catalog is None


def test_data_can_be_in_another_account_than_the_storage_of_the_host() -> None:
    """The receiver's own account holds only its keys; its events are stored in the account of the data."""
    own_settings = {
        "AzureWebJobsStorage__blobServiceUri": "https://own.blob.core.windows.net/",
        "AzureWebJobsStorage__tableServiceUri": "https://own.table.core.windows.net/",
        "AzureWebJobsStorage__clientId": "id",
    }
    data = {
        "THROUGHLINE_STORAGE__blobServiceUri": "https://data.blob.core.windows.net/",
        "THROUGHLINE_STORAGE__tableServiceUri": "https://data.table.core.windows.net/",
    }
    for environment in ({**own_settings, **data}, {"AzureWebJobsStorage": "UseDevelopmentStorage=true", **data}):
        storage = load(catalog=False, environment=environment).storage
        assert storage.blob_endpoint == "https://data.blob.core.windows.net"
        assert storage.table_endpoint == "https://data.table.core.windows.net"
        assert storage.connection_string == ""
    assert load(catalog=False, environment={**own_settings, **data}).storage.client_id == "id"
    assert load(catalog=False, environment=own_settings).storage.blob_endpoint == "https://own.blob.core.windows.net"


@pytest.mark.parametrize("variable", ["THROUGHLINE_STORAGE__blobServiceUri", "THROUGHLINE_STORAGE__tableServiceUri"])
def test_another_account_with_only_one_endpoint_is_refused(variable: str) -> None:
    environment = {"AzureWebJobsStorage": "UseDevelopmentStorage=true", variable: "https://data.example/"}
    with pytest.raises(Misconfigured, match="belong together: set both, or neither"):
        load(catalog=False, environment=environment)


def test_an_identity_replaces_a_connection_string() -> None:
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
        ("THROUGHLINE_RUN_TIMEOUT_MINUTES", "-1"),
        ("THROUGHLINE_STREAM_EDGE_DAYS", "never"),
        ("THROUGHLINE_STREAM_EDGE_DAYS", "1e12"),
        ("THROUGHLINE_APPLICATION_IDLE_MINUTES", "nan"),
        ("THROUGHLINE_APPLICATION_IDLE_MINUTES", "inf"),
        ("THROUGHLINE_MAX_BATCH", "10000"),
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


def test_column_entities_of_a_plain_atlas_are_refused_for_purview() -> None:
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


def test_the_repr_of_the_settings_shows_no_secret() -> None:
    settings = load(
        catalog=True,
        environment={
            **LOCAL,
            "AzureWebJobsStorage": "AccountName=x;AccountKey=geheim",
            "THROUGHLINE_CATALOG_TOKEN": "geheim",
        },
    )
    assert "geheim" not in repr(settings)


def test_the_example_of_local_settings_is_complete_and_has_nothing_unknown() -> None:
    values = json.loads((ROOT / "examples/local.settings.json.example").read_text())["Values"]
    load(catalog=True, environment=values)
    known_names = {setting.name for setting in SETTINGS} | {"FUNCTIONS_WORKER_RUNTIME"}
    assert set(values) <= known_names


def test_the_page_of_settings_matches_the_table_of_settings() -> None:
    text = PAGE.read_text()
    assert rendered(text) == text, f"run `python -m shared.settings.table {PAGE.relative_to(ROOT)}`"
    for setting in SETTINGS:
        assert text.count(f"| `{setting.name}` |") == 1
    with pytest.raises(ValueError, match="lacks"):
        rendered("# Settings")


def test_each_number_has_its_unit_and_bounds_and_they_hold() -> None:
    for setting in SETTINGS:
        if not re.fullmatch(r"[0-9]+", setting.default or ""):
            continue
        assert re.match(r"[a-z ]+, (above 0|0 or more|from [01]) ?", setting.bounds), setting.name
        ceiling = float(re.findall(r"(?:at most|to) ([0-9,]+)", setting.bounds)[0].replace(",", ""))
        setting.parse(f"{ceiling:.0f}")
        with pytest.raises(ValueError, match="must be"):
            setting.parse(f"{ceiling + 1:.0f}")


RECEIVER_ALONE = frozenset({"max_body_bytes", "redact", "operations_ignored", "operations_kept", "jobs", "namespaces"})
"""Fields of `Settings` that `shared/bootstrap.py` does not read."""


def test_settings_without_a_source_for_commands_belong_to_the_receiver() -> None:
    """A setting that the composition root of the functions does not read cannot affect a command."""
    root = (ROOT / "shared" / "bootstrap.py").read_text()
    for name in RECEIVER_ALONE:
        assert f"settings.{name}" not in root
    assert all(setting.of_receiver for setting in SETTINGS if setting.source is SettingSource.NONE)


def test_no_credential_is_recorded() -> None:
    secret = {
        "AzureWebJobsStorage": "AccountName=x;AccountKey=geheim",
        "THROUGHLINE_CATALOG_USER": "geheim",
        "THROUGHLINE_CATALOG_TOKEN": "geheim",
        "APPLICATIONINSIGHTS_CONNECTION_STRING": "InstrumentationKey=geheim",
    }
    recorded_settings = load(catalog=True, environment={**LOCAL, **secret}).to_record
    assert recorded_settings.keys() == RECORDED.keys()
    assert "geheim" not in str(recorded_settings)
    with pytest.raises(Misconfigured, match="no user and no password"):
        load(catalog=True, environment={**LOCAL, "THROUGHLINE_CATALOG_ENDPOINT": "https://ann:geheim@contoso/atlas"})


FILES = ("THROUGHLINE_NAMES", "THROUGHLINE_FORWARD")


def on_record(**settings: str) -> dict[str, str]:
    return dict(load(catalog=True, environment={**LOCAL, **settings}).to_record)


@pytest.mark.parametrize(
    "name",
    [name for name in RECORDED if name not in {*FILES, "THROUGHLINE_CATALOG_ENDPOINT"}],
)
def test_commands_obey_each_recorded_setting_and_name_its_difference(name: str) -> None:
    setting = RECORDED[name]
    text = next(text for text in ("true", "false", "12", "abc") if _is_new(setting, text))
    record = on_record(**{name: text})
    own_settings = load(catalog=True, environment={**LOCAL, name: text})
    assert load(catalog=True, environment=LOCAL, record=record) == replace(own_settings, to_record={})
    differences = differing(record, {name: setting.default or "other"})
    assert [difference.name for difference in differences] == ([] if name == SHADOW else [name])


@pytest.mark.parametrize("name", FILES)
def test_commands_use_the_content_of_a_file_on_record_and_name_its_difference(name: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("# one")
    record = on_record(**{name: str(file)})
    assert record[name] == "# one"
    settings = load(catalog=True, environment=LOCAL, record=record)
    rules = settings.names if name == "THROUGHLINE_NAMES" else settings.forward.rules
    assert rules
    assert rules.text == "# one"
    file.write_text("# two")
    assert [difference.name for difference in differing(record, {name: str(file)})] == [name]


def _is_new(setting: Setting, text: str) -> bool:
    try:
        return bool(setting.parse(text) != setting.parse(setting.default or ""))
    except ValueError:
        return False


def test_shadow_mode_is_on_if_the_functions_or_the_command_have_it_on() -> None:
    for functions, own_value in (("true", "false"), ("false", "true"), ("true", "true")):
        record = on_record(THROUGHLINE_SHADOW=functions)
        assert load(catalog=True, environment={**LOCAL, "THROUGHLINE_SHADOW": own_value}, record=record).shadow
        assert differing(record, {"THROUGHLINE_SHADOW": own_value}) == ()
    record = on_record(THROUGHLINE_SHADOW="false")
    assert not load(catalog=True, environment=LOCAL, record=record).shadow


def test_the_endpoint_of_the_local_worlds_catalog_is_the_current_one() -> None:
    """Its port may be another one since the functions last started; everything else is as they have it."""
    record = on_record(THROUGHLINE_CATALOG_ENDPOINT="http://127.0.0.1:1/atlas", THROUGHLINE_COLLECTION="a")
    overrides = {**LOCAL, "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:2/atlas", "THROUGHLINE_COLLECTION": "b"}
    catalog_settings = load(catalog=True, environment={}, overrides=overrides, record=record).catalog
    assert catalog_settings
    assert (catalog_settings.endpoint, catalog_settings.collection) == ("http://127.0.0.1:2/atlas", "a")


def test_a_record_with_settings_of_another_version_is_refused() -> None:
    for record in (
        {**on_record(), "THROUGHLINE_NEWEST": "x"},
        {**on_record(), "THROUGHLINE_APPLICATION_IDLE_MINUTES": "soon"},
    ):
        with pytest.raises(Misconfigured, match="another version"):
            differing(record, {})
    older = on_record()
    del older["THROUGHLINE_SHOW_SQL"]
    assert differing(older, {"THROUGHLINE_SHOW_SQL": "true"}) == (), "an older version has no such setting"
