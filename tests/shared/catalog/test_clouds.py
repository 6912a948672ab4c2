"""The scope of the token in each cloud, and the host of an account's name there."""

import base64
import json
import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from shared.bootstrap import account_at, assemble
from shared.catalog.connection.dialect import CLOUDS, cloud_of
from shared.errors import CatalogUnavailable
from shared.settings.reading import load
from throughline.cli.commands.administer.purview import endpoint_of
from throughline.cli.main import app

ENDPOINTS = {
    "https://contoso.purview.azure.com/datamap/api/atlas/v2": "https://purview.azure.net",
    "https://contoso.purview.azure.com/catalog/api/atlas/v2": "https://purview.azure.net",
    "https://api.purview-service.microsoft.com/datamap/api/atlas/v2": "https://purview.azure.net",
    "https://Contoso.Purview.Azure.US/datamap/api/atlas/v2": "https://purview.azure.us",
    "https://api.purview-service.microsoft.us/datamap/api/atlas/v2": "https://purview.azure.us",
    "https://contoso.purview.azure.cn/datamap/api/atlas/v2": "https://purview.azure.cn",
}


@pytest.fixture
def az(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `az` that gives a token and notes its arguments; the rest is azure-identity's own code."""
    claims = base64.urlsafe_b64encode(json.dumps({"oid": "ann"}).encode()).rstrip(b"=").decode()
    answer = {
        "accessToken": f"head.{claims}.signature",
        "expiresOn": "2099-01-01 00:00:00.000000",
        "tokenType": "Bearer",
    }
    program = tmp_path / "az"
    program.write_text(f"#!/bin/sh\necho \"$*\" >> {tmp_path}/asked\necho '{json.dumps(answer)}'\n")
    program.chmod(0o755)
    for name in [variable for variable in os.environ if variable.startswith("AZURE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "asked"


@pytest.mark.parametrize(("endpoint", "resource"), ENDPOINTS.items())
def test_a_token_is_asked_for_the_cloud_of_the_end_point(endpoint: str, resource: str, az: Path) -> None:
    account = account_at(endpoint)
    assert account is not None
    assert account.caller() == {"oid": "ann"}
    assert f"--resource {resource}" in az.read_text().splitlines()[-1].replace("/.default", "")


def test_every_cloud_has_an_endpoint_in_these_tests() -> None:
    assert {cloud.scope for cloud in CLOUDS} == {f"{endpoint}/.default" for endpoint in ENDPOINTS.values()}


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://lineage.contoso.com/datamap/api/atlas/v2",
        "https://purview.azure.com.example.org/datamap/api/atlas/v2",
        "https://notpurview.azure.us/datamap/api/atlas/v2",
        "https://atlas.contoso.com/api/atlas/v2",
    ],
)
def test_no_token_for_purview_is_requested_for_an_unknown_host(endpoint: str, az: Path) -> None:
    assert cloud_of(endpoint) is None
    settings = {
        "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        "THROUGHLINE_CATALOG_ENDPOINT": endpoint,
        "THROUGHLINE_MAX_CATALOG_RATE": "0",
    }
    parts = assemble(load(catalog=True, environment=settings))
    with pytest.raises(CatalogUnavailable, match="set THROUGHLINE_CATALOG_SCOPE"):
        parts.catalog.find([("azure_sql_table", "mssql://s/d/s/t")])
    assert not az.exists()


def test_the_scope_setting_takes_precedence_over_the_table_of_clouds(az: Path) -> None:
    for endpoint in ("https://lineage.contoso.com/datamap/api/atlas/v2", next(iter(ENDPOINTS))):
        account = account_at(endpoint, scope="https://purview.azure.us/.default")
        assert account is not None
        account.caller()
    assert az.read_text().count("https://purview.azure.us") == 2


@pytest.mark.parametrize(
    ("account", "cloud", "endpoint"),
    [
        ("contoso", "public", "https://contoso.purview.azure.com/datamap/api/atlas/v2"),
        ("contoso", "usgov", "https://contoso.purview.azure.us/datamap/api/atlas/v2"),
        ("contoso", "china", "https://contoso.purview.azure.cn/datamap/api/atlas/v2"),
        ("contoso.purview.azure.us", "public", "https://contoso.purview.azure.us/datamap/api/atlas/v2"),
        ("https://contoso.purview.azure.cn/", "public", "https://contoso.purview.azure.cn/datamap/api/atlas/v2"),
        ("http://127.0.0.1:21000", "public", "http://127.0.0.1:21000/datamap/api/atlas/v2"),
    ],
)
def test_an_account_name_gives_an_endpoint_in_its_cloud(account: str, cloud: str, endpoint: str) -> None:
    assert endpoint_of(account, cloud) == endpoint


def test_a_custom_host_requires_the_scope(az: Path) -> None:
    """The command reports it in a sentence, and takes it from an option or the setting."""
    arguments = ["purview", "grant", "--account", "https://127.0.0.1:9", "--collection", "c", "--principal", "p"]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 1
    assert "set THROUGHLINE_CATALOG_SCOPE" in refused.output.replace("\n", " ")
    assert not az.exists()
    CliRunner().invoke(app, arguments, env={"THROUGHLINE_CATALOG_SCOPE": "https://purview.azure.us/.default"})
    assert "--resource https://purview.azure.us" in az.read_text()


def test_a_cloud_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        endpoint_of("contoso", "germany")
    assert "public, usgov, china" in capsys.readouterr().err
