"""The exact output of `throughline config` for each platform, and that it works unchanged."""

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import asdict
from datetime import date
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.pages import PLATFORM_PAGES, with_table
from throughline.cli.commands.local.up import session_properties, typed
from throughline.cli.context.target import HOME
from throughline.cli.main import app
from throughline.cli.platforms.configuration import NEVER, Configuration, Installation, as_text
from throughline.cli.platforms.configuration import configuration as configuration_of
from throughline.cli.platforms.runtimes import RUNTIMES, PlatformError, Proof, Runtime, runtimes_of
from throughline.cli.platforms.table import DATABRICKS_LISTENER, PLATFORMS
from throughline.cli.platforms.texts import AZURE_DATABRICKS
from throughline.local.spark.job import LISTENER_CLASS
from throughline.plan_jar import LISTENER_CLASS as PLAN_LISTENER
from throughline.plan_jar import PlanJarError, plan_jar

GOLDEN = Path(__file__).parent / "platforms"
TODAY = date(2026, 11, 23)
URL = "https://func-lineage-receiver-abc.azurewebsites.net"
CASES = [*((platform, "http") for platform in PLATFORMS), ("fabric", "file")]
runner = CliRunner()


def installation(**changes: str) -> Installation:
    defaults = {
        "url": URL,
        "namespace": "sales-workspace",
        "vault": "kv-lineage",
        "plan_jar": "/opt/throughline-plan.jar",
    }
    return Installation(**{**defaults, **changes})


def configuration(platform: str, installation: Installation) -> Configuration:
    return configuration_of(platform, installation, today=TODAY)


@pytest.mark.parametrize(("platform", "transport"), CASES, ids=["-".join(case) for case in CASES])
def test_the_configuration_of_each_platform_is_golden(platform: str, transport: str, rewrite_golden: bool) -> None:
    document = json.dumps(asdict(configuration(platform, installation(transport=transport))), indent=2) + "\n"
    path = GOLDEN / f"{platform}-{transport}.json"
    if rewrite_golden:
        path.write_text(document)
    assert document == path.read_text()


@pytest.mark.parametrize(("platform", "transport"), CASES, ids=["-".join(case) for case in CASES])
def test_no_platform_gets_a_forbidden_property(platform: str, transport: str) -> None:
    text = as_text(configuration(platform, installation(transport=transport)).properties)
    for name in NEVER:
        assert name.split(" ")[0].partition("=")[0] not in text or "transport.url" in name
    (url,) = re.findall(r"^spark\.openlineage\.transport\.url (.*)$", text, re.MULTILINE) or [URL]
    assert url == URL
    assert all(line.count(" ") == 1 for line in text.splitlines()), "a space ends a property's name"


def test_a_local_session_sends_no_plans_if_the_plan_jar_cannot_be_built(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> Path:
        raise PlanJarError("There is no compiler.")

    properties = session_properties("http://127.0.0.1:7071", broken)
    assert properties["spark.extraListeners"] == LISTENER_CLASS
    assert "spark.jars" not in properties
    assert "There is no compiler." in capsys.readouterr().err


@pytest.mark.parametrize("activated", [False, True])
def test_a_printed_command_runs_from_the_current_folder(
    *, activated: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any terminal: it may be typed in another one, which has not activated the environment."""
    monkeypatch.chdir(Path(sys.executable).parents[1])
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent if activated else tmp_path))
    program, _, arguments = typed("status", tmp_path / "my world").partition(" ")
    assert (program, Path(program).exists()) == ("bin/throughline", True)
    assert arguments == f"status --home '{tmp_path}/my world'"


def test_the_last_step_is_the_status_command_of_this_world() -> None:
    command = "throughline status --home '/my world'"
    assert configuration("local", installation(status=command)).steps[-1].endswith(f", then: {command}")


def test_an_installed_command_is_typed_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert typed("status", HOME) == "throughline status"


def test_the_listener_timeout_is_longer_than_its_default() -> None:
    """Five seconds are its default: too few for a receiver that starts cold."""
    for platform in PLATFORMS:
        properties = configuration(platform, installation()).properties
        assert int(properties["spark.openlineage.transport.timeoutInMillis"]) > 5_000


def test_a_key_is_looked_up_or_added_from_key_vault_and_never_written_down() -> None:
    header = "spark.openlineage.transport.headers.x-functions-key"
    for platform in set(PLATFORMS) - {"local"}:
        platform_config = configuration(platform, installation(key="0123456789"))
        assert "0123456789" not in json.dumps(asdict(platform_config))
        looked_up = platform_config.properties.get(header, "") == "{{secrets/throughline/throughline-key}}"
        added = any(
            header in step and "az keyvault secret show --vault-name kv-lineage" in step
            for step in platform_config.steps
        )
        assert looked_up != added
        assert re.search(platform_config.properties["spark.redaction.regex"].removeprefix("(?i)"), header)
    assert configuration("local", installation(key="0123456789")).properties[header] == "0123456789"


@pytest.mark.parametrize(
    ("platform", "options", "message"),
    [
        ("databricks-uc", {"listener": "1.37.0"}, "use 1.51 or later"),
        ("synapse", {"listener": "1.9.0"}, "older than any that was tried"),
        ("synapse", {"listener": "latest"}, "a listener's version looks like"),
        ("synapse", {"transport": "file"}, "only fabric can write files"),
        ("synapse", {"runtime": "3.3"}, "synapse has no runtime '3.3' that is known here: choose one of 3.5, 3.4"),
        ("databricks-uc", {"runtime": "12.2"}, "choose one of 18, 17.3, 16.4-scala2.13, 16.4, 15.4, 14.3, 13.3"),
        ("fabric", {"transport": "file", "runtime": "1.1"}, "fabric has no runtime '1.1'"),
        ("synapse", {"url": "http://receiver.example.com"}, "must begin with https://"),
        ("databricks", {"folder": '/a"; rm -rf "$HOME'}, "would not take as it is"),
        ("fabric", {"transport": "file", "vault": 'x")\nimport os'}, "would not take as it is"),
    ],
)
def test_an_unsupported_configuration_is_refused_with_a_message(
    platform: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(PlatformError, match=re.compile(re.escape(message), re.IGNORECASE)):
        configuration(platform, installation(**options))


def test_an_older_listener_gets_its_jar() -> None:
    platform_config = configuration("synapse", installation(listener="1.25.0"))
    assert "openlineage-spark_2.12-1.25.0.jar" in platform_config.steps[0]


@pytest.mark.parametrize("each", RUNTIMES, ids=[f"{runtime.platform}-{runtime.name}" for runtime in RUNTIMES])
def test_each_runtime_gets_the_jar_of_its_scala_version_and_its_notes(each: Runtime) -> None:
    platform_config = configuration(each.platform, installation(runtime=each.name))
    text = as_text(platform_config.properties) + "".join(platform_config.steps)
    jars = set(re.findall(r"openlineage-spark_(2\.\d+)", text))
    assert jars == {each.scala}
    assert platform_config.runtime == each.name
    notes = " ".join(platform_config.notes)
    assert ("out of support" in notes) == (each.ends is not None and each.ends < TODAY)
    assert ("not proved" in notes) == (each.proof is Proof.UNPROVEN)
    assert each.note in notes


def test_the_table_of_runtimes_is_consistent() -> None:
    """Scala follows Spark's major version but on the image that Databricks made for moving over; one default each."""
    for platform in ("local", "synapse", "databricks", "fabric"):
        assert sum(runtime.is_default for runtime in runtimes_of(platform)) == 1
        names = [runtime.name for runtime in runtimes_of(platform)]
        assert len(set(names)) == len(names)
    for known_runtime in RUNTIMES:
        assert known_runtime.scala == (
            "2.13" if known_runtime.spark.startswith("4") or "scala2.13" in known_runtime.name else "2.12"
        )
        assert not (known_runtime.is_default and known_runtime.is_over(TODAY))
    outdated_runtimes = {(runtime.platform, runtime.name) for runtime in RUNTIMES if runtime.is_over(TODAY)}
    assert outdated_runtimes == {("synapse", "3.4"), ("databricks", "13.3")}
    on_databricks = {runtime.name: runtime for runtime in runtimes_of("databricks")}
    assert {name for name, runtime in on_databricks.items() if runtime.spark.startswith("4")} == {"18", "17.3"}
    assert all(on_databricks[name].proof is Proof.UNPROVEN for name in ("18", "17.3"))


@pytest.mark.parametrize("platform", PLATFORM_PAGES)
def test_the_pages_contain_the_current_table_of_runtimes(platform: str) -> None:
    """After a change: make runtimes."""
    page = PLATFORM_PAGES[platform].read_text()
    assert with_table(page, platform) == page
    assert with_table(page.replace("| 2.12 |", "| 2.11 |").replace("| 2.13 |", "| 2.11 |"), platform) == page


def test_an_unsupported_or_unproven_runtime_is_reported() -> None:
    output = runner.invoke(app, ["config", "synapse", "--url", URL, "--runtime", "3.4"]).output
    assert "out of support since 2026-03-31" in output
    output = runner.invoke(app, ["config", "databricks", "--url", URL, "--runtime", "17.3"]).output
    assert "not proved on runtime 17.3" in output
    assert "openlineage-spark_2.13-" in output


@pytest.mark.parametrize("platform", ["databricks", "databricks-uc"])
def test_databricks_keeps_its_own_listener(platform: str) -> None:
    """`spark.extraListeners` replaces what Databricks sets: without its own the Spark UI of ended clusters is empty."""
    platform_config = configuration(platform, installation())
    listeners = f"{DATABRICKS_LISTENER},{LISTENER_CLASS},{PLAN_LISTENER}"
    assert platform_config.properties["spark.extraListeners"] == listeners
    assert f'"spark.extraListeners" = "{listeners}"' in platform_config.files["throughline-init.sh"]
    other_properties = [
        configuration(platform_name, installation()).properties for platform_name in ("synapse", "fabric", "local")
    ]
    assert {properties["spark.extraListeners"] for properties in other_properties} == {
        f"{LISTENER_CLASS},{PLAN_LISTENER}"
    }


@pytest.mark.parametrize(("platform", "transport"), CASES, ids=["-".join(case) for case in CASES])
def test_plans_are_sent_unless_the_plan_jar_is_left_out(platform: str, transport: str) -> None:
    """Only the plan listener, its jar and the steps that bring the jar differ."""
    platform_config = configuration(platform, installation(transport=transport))
    plain_config = configuration(platform, installation(transport=transport, plan_jar=""))
    assert (
        platform_config.properties["spark.extraListeners"]
        == f"{plain_config.properties['spark.extraListeners']},{PLAN_LISTENER}"
    )
    assert "throughline-plan" not in json.dumps([plain_config.properties, plain_config.files, plain_config.steps])
    assert [step for step in platform_config.steps if "throughline-plan" not in step] == list(plain_config.steps)
    brings = json.dumps([platform_config.properties.get("spark.jars"), platform_config.steps])
    assert "/opt/throughline-plan.jar" in brings
    plan_properties = {"spark.extraListeners", "spark.jars", "spark.throughline.plan.transport.location"}
    assert {name: value for name, value in platform_config.properties.items() if name not in plan_properties} == {
        name: value for name, value in plain_config.properties.items() if name not in plan_properties
    }


def test_the_jar_is_written_beside_the_properties(tmp_path: Path) -> None:
    jar = tmp_path / "out" / "throughline-plan.jar"
    result = runner.invoke(app, ["config", "local", "--url", URL, "--output", str(jar.parent)])
    assert result.exit_code == 0, result.output
    assert jar.read_bytes() == plan_jar().read_bytes()
    assert f"spark.jars {jar}" in (jar.parent / "local.conf").read_text().splitlines()
    result = runner.invoke(app, ["config", "local", "--url", URL, "--no-plan", "--output", str(tmp_path / "none")])
    assert {path.name for path in (tmp_path / "none").iterdir()} == {"local.conf", "log4j2.properties"}


@pytest.mark.parametrize("platform", ["databricks", "databricks-uc"])
def test_the_steps_create_a_secret_scope_backed_by_the_key_vault(platform: str, tmp_path: Path) -> None:
    """The steps are run as they are printed; `az` and `databricks` write down their arguments."""
    vault = "/subscriptions/s/resourceGroups/g/providers/Microsoft.KeyVault/vaults/kv-lineage"
    (tmp_path / "az").write_text(
        f"""#!/bin/sh
case "$*" in
  "keyvault show --name kv-lineage --query id -o tsv") echo {vault};;
  "keyvault show --name kv-lineage --query properties.vaultUri -o tsv") echo https://kv-lineage.vault.azure.cn/;;
  *) for each; do printf '%s\\n' "$each"; done >> {tmp_path}/az.txt;;
esac
"""
    )
    (tmp_path / "databricks").write_text(
        f"""#!/bin/sh\nfor each; do printf '%s\\n' "$each"; done >> {tmp_path}/databricks.txt\n"""
    )
    for program in ("az", "databricks"):
        (tmp_path / program).chmod(0o755)
    steps = configuration(platform, installation(scope="lineage")).steps
    (grant,) = [step for step in steps if "role assignment" in step]
    (scope,) = [step for step in steps if "create-scope" in step]
    assert steps.index(grant) < steps.index(scope)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    for command in (grant[grant.index("az role") :], scope[scope.index("databricks secrets") :]):
        subprocess.run(["bash", "-c", command], env={"PATH": path}, check=True)
    *start, text = (tmp_path / "databricks.txt").read_text().splitlines()
    assert start == ["secrets", "create-scope", "--json"]
    assert json.loads(text) == {
        "scope": "lineage",
        "scope_backend_type": "AZURE_KEYVAULT",
        "backend_azure_keyvault": {"resource_id": vault, "dns_name": "https://kv-lineage.vault.azure.cn/"},
    }
    granted = (tmp_path / "az.txt").read_text().splitlines()
    assert granted[granted.index("--role") + 1] == "Key Vault Secrets User"
    assert granted[granted.index("--assignee") + 1] == AZURE_DATABRICKS == "2ff814a6-3304-4ab8-85cb-cd0e6f879c1d"
    assert granted[granted.index("--scope") + 1] == vault


@pytest.mark.parametrize("transport", ["http", "file"])
@pytest.mark.parametrize("runtime", ["1.3", "2.0"])
def test_fabric_is_tried_without_a_jar_before_one_is_uploaded(transport: str, runtime: str) -> None:
    steps = configuration("fabric", installation(transport=transport, runtime=runtime)).steps
    (enter,) = [number for number, step in enumerate(steps) if step.startswith("Enter the properties")]
    (jarless_step,) = [number for number, step in enumerate(steps) if "without a jar of your own" in step]
    (jar,) = [number for number, step in enumerate(steps) if "Maven Central" in step]
    assert enter < jarless_step < jar
    assert "ClassNotFoundException" in steps[jar]


def test_the_listener_captures_the_properties_that_name_workspace_and_job() -> None:
    """Naming properties replaces the listener's own two, so these are named as well."""
    name = "spark.openlineage.capturedProperties"
    expected = {
        "databricks": "spark.databricks.workspaceUrl",
        "synapse": "spark.synapse.workspace.name",
        "fabric": "trident.artifact.workspace.id",
    }
    for platform, property_name in expected.items():
        requested_properties = configuration(platform, installation()).properties[name].split(",")
        assert requested_properties[:2] == ["spark.master", "spark.app.name"]
        assert property_name in requested_properties
    assert name not in configuration("local", installation()).properties


@pytest.mark.parametrize("platform", ["databricks", "databricks-uc"])
def test_the_init_script_copies_the_jar_or_gives_the_reason(platform: str, tmp_path: Path) -> None:
    script = configuration(platform, installation(folder=str(tmp_path))).files["throughline-init.sh"]
    places = {"/mnt/driver-daemon/jars/": tmp_path / "jars", "/databricks/driver/conf/": tmp_path / "conf"}
    for place, folder in places.items():
        assert place in script
        folder.mkdir()
        script = script.replace(place, f"{folder}/")

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)

    failed = run()
    assert failed.returncode == 1
    assert "could not be copied" in failed.stderr
    (tmp_path / "openlineage-spark_2.12-1.53.0.jar").write_bytes(b"jar")
    assert run().returncode == 1, "the session would not start without the second jar"
    (tmp_path / "throughline-plan.jar").write_bytes(b"plans")
    assert run().returncode == 0
    assert (tmp_path / "jars" / "openlineage-spark_2.12-1.53.0.jar").read_bytes() == b"jar"
    assert (tmp_path / "jars" / "throughline-plan.jar").read_bytes() == b"plans"
    assert "OpenLineageSparkListener" in next((tmp_path / "conf").iterdir()).read_text()


class Receiver(BaseHTTPRequestHandler):
    """Takes events, refuses one, and is away once."""

    taken: list[tuple[str, bytes]] = []  # noqa: RUF012 - emptied by the test that reads it
    away = False

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = 503 if type(self).away else 400 if b"bad" in body else 201
        if status == 201:
            self.taken.append((self.headers["x-functions-key"], body.strip()))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def test_the_notebook_sends_each_line_of_the_files_once(tmp_path: Path) -> None:
    (tmp_path / "notebookutils.py").write_text(
        "class credentials:\n    getSecret = staticmethod(lambda vault, name: f'{name} of {vault}')\n"
    )
    events = tmp_path / "events.jsonl"
    events.write_bytes(b'{"n": 1}\n{"bad": 2}\n{"n": 3}\n{"half')
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        target_installation = installation(
            url=f"http://127.0.0.1:{server.server_port}", transport="file", folder=str(tmp_path)
        )
        script = configuration("fabric", target_installation).files["pick_up.py"]

        def run() -> int:
            environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
            return subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode

        Receiver.taken.clear()
        assert run() == 0
        key = "throughline-key of https://kv-lineage.vault.azure.net/"
        assert Receiver.taken == [(key, b'{"n": 1}'), (key, b'{"n": 3}')]
        events.write_bytes(events.read_bytes() + b'": 4}\n')
        Receiver.away = True
        assert run() == 1
        Receiver.away = False
        assert run() == 0
        assert [body for _, body in Receiver.taken] == [b'{"n": 1}', b'{"n": 3}', b'{"half": 4}']
        server.shutdown()


def test_files_with_secrets_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    result = runner.invoke(app, ["config", "databricks", "--url", URL, "--output", str(folder)])
    assert result.exit_code == 0, result.output
    assert {path.name for path in folder.iterdir()} == {
        "databricks.conf",
        "throughline-init.sh",
        "throughline-plan.jar",
    }
    private = [path for path in folder.iterdir() if path.suffix != ".jar"]
    assert {path.stat().st_mode & 0o777 for path in private} == {0o600}
    assert "Do not set" in result.output


def test_json_and_text_contain_the_same_properties() -> None:
    machine = json.loads(runner.invoke(app, ["config", "synapse", "--url", URL, "--json"]).output)
    people = runner.invoke(app, ["config", "synapse", "--url", URL]).output
    for name, value in machine["properties"].items():
        assert f"{name} {value}\n" in people


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["emr", "--url", URL], "no platform 'emr'"),
        (["synapse"], "give --url"),
        (["local"], "start a world"),
        (["databricks-uc", "--url", URL, "--listener", "1.40.0"], "1.51 or later"),
    ],
)
def test_a_missing_or_wrong_argument_is_refused_with_a_message(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    result = runner.invoke(app, ["config", *arguments, "--home", str(tmp_path)])
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")


def test_the_local_files_mute_only_the_two_harmless_messages() -> None:
    platform_config = configuration("local", installation())
    text = platform_config.files["log4j2.properties"]
    patterns = re.findall(r"^logger\.\w+\.filter\.harmless\.regex = (.*)$", text, re.MULTILINE)
    harmless = (
        "loader: Failed to load OpenLineageExtensionProvider class \nmore",
        "Query execution is null: can't emit event for executionId 9",
    )
    for pattern, message in zip(patterns, harmless, strict=True):
        assert re.fullmatch(pattern, message)
        assert not re.fullmatch(pattern, "Could not emit lineage")
    assert ".level" not in text


def test_the_local_steps_repeat_the_packages_of_the_properties() -> None:
    platform_config = configuration("local", installation())
    packages = platform_config.properties["spark.jars.packages"]
    assert any(f"--packages {packages},YOURS" in step for step in platform_config.steps)
