"""The requirements of `func start` and Azure on the files that they read; the local host runs the same folders."""

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FUNCTIONS = sorted(path.parent for path in ROOT.glob("*/function.json"))


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_there_are_exactly_five_functions() -> None:
    expected = ["lineage_function", "parser_function", "receiver_function", "sweeper_function"]
    assert [path.name for path in FUNCTIONS] == expected


@pytest.mark.parametrize("folder", FUNCTIONS, ids=lambda path: path.name)
def test_a_function_has_its_script_and_bindings_with_directions(folder: Path) -> None:
    config = read(folder / "function.json")
    assert (folder / config["scriptFile"]).is_file()
    assert sum(binding["type"].endswith("Trigger") for binding in config["bindings"]) == 1
    for binding in config["bindings"]:
        assert binding["direction"] in {"in", "out"}
        assert binding["name"]


def test_events_are_received_at_the_paths_of_openlineage_clients_with_a_key() -> None:
    trigger, answer = read(ROOT / "receiver_function/function.json")["bindings"]
    assert trigger["type"] == "httpTrigger"
    assert trigger["authLevel"] == "function"
    assert trigger["methods"] == ["post"]
    prefix = read(ROOT / "host.json")["extensions"]["http"]["routePrefix"]
    assert f"/{prefix}/{trigger['route']}" == "/api/v1/lineage/{batch?}"
    assert (answer["type"], answer["direction"], answer["name"]) == ("http", "out", "$return")


def test_every_connection_is_a_setting_of_the_example() -> None:
    values = read(ROOT / "examples/local.settings.json.example")["Values"]
    for folder in FUNCTIONS:
        for binding in read(folder / "function.json")["bindings"]:
            if "connection" in binding:
                assert binding["connection"] in values


def test_the_example_of_local_settings_is_for_python_and_azurite() -> None:
    example = read(ROOT / "examples/local.settings.json.example")
    assert example["IsEncrypted"] is False
    assert example["Values"]["FUNCTIONS_WORKER_RUNTIME"] == "python"
    assert example["Values"]["AzureWebJobsStorage"] == "UseDevelopmentStorage=true"


def test_host_json_names_a_bundle_with_blob_and_timer_triggers() -> None:
    host = read(ROOT / "host.json")
    assert host["version"] == "2.0"
    assert host["extensionBundle"] == {
        "id": "Microsoft.Azure.Functions.ExtensionBundle",
        "version": "[4.0.0, 5.0.0)",
    }
    assert host["extensions"]["blobs"]["poisonBlobThreshold"] == 5


def test_the_host_does_not_throttle_senders() -> None:
    """Beyond `maxOutstandingRequests` it answers 429 without Retry-After, and a listener loses the event."""
    http = read(ROOT / "host.json")["extensions"]["http"]
    assert http["maxOutstandingRequests"] == -1
    assert http["dynamicThrottlesEnabled"] is False
    assert 0 < http["maxConcurrentRequests"] <= 100


def requirements(name: str) -> dict[str, str]:
    """Return pinned names and versions of a requirements file."""
    lines = (ROOT / name).read_text().splitlines()
    pins = [line.split()[0].split("==") for line in lines if "==" in line and not line.startswith((" ", "#"))]
    return {package.lower(): version for package, version in pins}


def test_deployed_requirements_are_pinned_hashed_and_without_addresses() -> None:
    text = (ROOT / "requirements.txt").read_text()
    assert "://" not in text
    assert "--index" not in text
    for block in text.split("\n\n"):
        assert block.count("--hash=sha256:") >= block.count("=="), block[:80]


def test_deployed_requirements_include_no_development_tools() -> None:
    deployed = requirements("requirements.txt")
    required_names = {
        "azure-functions",
        "azure-storage-blob",
        "azure-data-tables",
        "azure-identity",
        "pyapacheatlas",
        "msgspec",
    }
    assert required_names <= set(deployed)
    assert not {"pyspark", "pytest", "typer", "rich", "ruff", "mypy", "starlette", "uvicorn"} & set(deployed)


def test_developers_use_the_versions_that_are_deployed() -> None:
    deployed, developed = requirements("requirements.txt"), requirements("requirements/dev.txt")
    assert {name: developed.get(name) for name in deployed} == deployed


def test_local_settings_are_neither_tracked_nor_deployed() -> None:
    assert "local.settings.json" in (ROOT / ".gitignore").read_text().splitlines()
    ignored = (ROOT / ".funcignore").read_text().splitlines()
    assert {"/local.settings.json", "/tests", "/throughline", ".venv", "/build"} <= set(ignored)
