"""What `throughline config` says for each platform, word by word, and that it can be used as it stands."""

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.platforms import NEVER, PLATFORMS, PlatformError, Wanted, as_text, configuration

GOLDEN = Path(__file__).parent / "platforms"
URL = "https://func-lineage-receiver-abc.azurewebsites.net"
CASES = [*((platform, "http") for platform in PLATFORMS), ("fabric", "file")]
runner = CliRunner()


def wanted(**more: str) -> Wanted:
    return Wanted(**{"url": URL, "namespace": "sales-workspace", "vault": "kv-lineage", **more})


@pytest.mark.parametrize(("platform", "transport"), CASES, ids=["-".join(case) for case in CASES])
def test_a_platform_is_told_this(platform: str, transport: str, rewrite_golden: bool) -> None:
    found = json.dumps(asdict(configuration(platform, wanted(transport=transport))), indent=2) + "\n"
    path = GOLDEN / f"{platform}-{transport}.json"
    if rewrite_golden:
        path.write_text(found)
    assert found == path.read_text()


@pytest.mark.parametrize(("platform", "transport"), CASES, ids=["-".join(case) for case in CASES])
def test_no_platform_is_told_what_must_not_be_set(platform: str, transport: str) -> None:
    text = as_text(configuration(platform, wanted(transport=transport)).properties)
    for name in NEVER:
        assert name.split(" ")[0].partition("=")[0] not in text or "transport.url" in name
    (url,) = re.findall(r"^spark\.openlineage\.transport\.url (.*)$", text, re.MULTILINE) or [URL]
    assert url == URL
    assert all(line.count(" ") == 1 for line in text.splitlines()), "a space ends a property's name"


def test_the_listener_waits_longer_than_it_would_by_itself() -> None:
    """Five seconds are its default: too few for a receiver that starts cold."""
    for platform in PLATFORMS:
        properties = configuration(platform, wanted()).properties
        assert int(properties["spark.openlineage.transport.timeoutInMillis"]) > 5_000


def test_a_key_is_looked_up_or_added_from_key_vault_and_never_written_down() -> None:
    header = "spark.openlineage.transport.headers.x-functions-key"
    for platform in set(PLATFORMS) - {"local"}:
        found = configuration(platform, wanted(key="0123456789"))
        assert "0123456789" not in json.dumps(asdict(found))
        looked_up = found.properties.get(header, "") == "{{secrets/throughline/throughline-key}}"
        added = any(
            header in step and "az keyvault secret show --vault-name kv-lineage" in step for step in found.steps
        )
        assert looked_up != added
        assert re.search(found.properties["spark.redaction.regex"].removeprefix("(?i)"), header)
    assert configuration("local", wanted(key="0123456789")).properties[header] == "0123456789"


@pytest.mark.parametrize(
    ("platform", "more", "words"),
    [
        ("databricks-uc", {"listener": "1.37.0"}, "use 1.51 or later"),
        ("synapse", {"listener": "1.9.0"}, "older than any that was tried"),
        ("synapse", {"listener": "latest"}, "a listener's version is like"),
        ("synapse", {"transport": "file"}, "only fabric can write files"),
        ("synapse", {"scala": "2.11"}, "only for 2.12 and 2.13"),
        ("synapse", {"url": "http://receiver.example.com"}, "must begin with https://"),
        ("databricks", {"folder": '/a"; rm -rf "$HOME'}, "stumble"),
        ("fabric", {"transport": "file", "vault": 'x")\nimport os'}, "stumble"),
    ],
)
def test_what_can_not_work_is_refused_with_a_sentence(platform: str, more: dict[str, str], words: str) -> None:
    with pytest.raises(PlatformError, match=re.compile(re.escape(words), re.IGNORECASE)):
        configuration(platform, wanted(**more))


def test_older_listeners_and_newer_scalas_get_their_jar() -> None:
    found = configuration("synapse", wanted(listener="1.25.0", scala="2.13"))
    assert "openlineage-spark_2.13-1.25.0.jar" in found.steps[0]
    packages = configuration("local", wanted(scala="2.13")).properties["spark.jars.packages"]
    assert packages.startswith("io.openlineage:openlineage-spark_2.13:")


@pytest.mark.parametrize("platform", ["databricks", "databricks-uc"])
def test_the_init_script_copies_the_jar_or_says_why_not(platform: str, tmp_path: Path) -> None:
    script = configuration(platform, wanted(folder=str(tmp_path))).files["throughline-init.sh"]
    places = {"/mnt/driver-daemon/jars/": tmp_path / "jars", "/databricks/driver/conf/": tmp_path / "conf"}
    for place, here in places.items():
        assert place in script
        here.mkdir()
        script = script.replace(place, f"{here}/")

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)

    failed = run()
    assert failed.returncode == 1
    assert "could not be copied" in failed.stderr
    (tmp_path / "openlineage-spark_2.12-1.53.0.jar").write_bytes(b"jar")
    assert run().returncode == 0
    assert (tmp_path / "jars" / "openlineage-spark_2.12-1.53.0.jar").read_bytes() == b"jar"
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
        """Say nothing."""


def test_the_notebook_sends_each_line_of_the_files_once(tmp_path: Path) -> None:
    (tmp_path / "notebookutils.py").write_text(
        "class credentials:\n    getSecret = staticmethod(lambda vault, name: f'{name} of {vault}')\n"
    )
    events = tmp_path / "events.jsonl"
    events.write_bytes(b'{"n": 1}\n{"bad": 2}\n{"n": 3}\n{"half')
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        where = wanted(url=f"http://127.0.0.1:{server.server_port}", transport="file", folder=str(tmp_path))
        script = configuration("fabric", where).files["pick_up.py"]

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


def test_files_are_written_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = runner.invoke(app, ["config", "databricks", "--url", URL, "--output", str(folder)])
    assert done.exit_code == 0, done.output
    assert {path.name for path in folder.iterdir()} == {"databricks.conf", "throughline-init.sh"}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert "Leave alone" in done.output


def test_machines_get_json_and_people_the_lines_to_copy() -> None:
    machine = json.loads(runner.invoke(app, ["config", "synapse", "--url", URL, "--json"]).output)
    people = runner.invoke(app, ["config", "synapse", "--url", URL]).output
    for name, value in machine["properties"].items():
        assert f"{name} {value}\n" in people


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["emr", "--url", URL], "no platform 'emr'"),
        (["synapse"], "give --url"),
        (["local"], "start a world"),
        (["databricks-uc", "--url", URL, "--listener", "1.40.0"], "1.51 or later"),
    ],
)
def test_one_sentence_when_something_is_missing(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = runner.invoke(app, ["config", *arguments, "--home", str(tmp_path)])
    assert done.exit_code == 2
    assert words in done.output.replace("\n", " ")
