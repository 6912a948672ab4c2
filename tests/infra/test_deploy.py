"""`python -m throughline.cli.deploy`, with a stand-in for `az` that answers as Azure does, and a receiver."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import psutil
import pytest

from shared.versions import PACKAGE_FILE, PACKAGE_HEADER
from tests.infra.azure_stand_in import AzureStandIn, Failure
from throughline.cli.deploy.azure_cli import WEB_API, AzureCli, AzureCliError
from throughline.cli.deploy.packaging import Package, checked, read_package
from throughline.cli.deploy.progress import DeployError, PollLimits, Progress
from throughline.cli.deploy.receiver import ProbeAnswer, post_nothing
from throughline.cli.deploy.target import OPTIONAL, Target, from_azd
from throughline.cli.deploy.worker import EXTENSION_KEY, deploy_lineage, deploy_worker

ROOT = Path(__file__).parents[2]
KEY = "key-of-production"
OLD, NEW = "a" * 64, "b" * 64
"""Digests of packages."""
OUTPUTS = {
    "RECEIVER_NAME": "func-receiver",
    "RECEIVER_URL": "https://func-receiver.azurewebsites.net",
    "RECEIVER_SLOT": "",
    "WORKER_NAME": "func-worker",
    "WORKER_PRINCIPAL_ID": "0000-1111",
    "EVENT_TOPIC_NAME": "evgt-lineage",
    "STORAGE_ACCOUNT_NAME": "stabc",
    "DELIVERY": "eventGrid",
    "ENTRA_APPLICATION_ID": "",
    "LINEAGE_NAME": "",
    "LINEAGE_URL": "",
}
ZIP = "functionapp deployment source config-zip"
SWAP = "functionapp deployment slot swap"
RESTART = "functionapp restart"
KEYS = "functionapp keys list"
SITE = "/subscriptions/{subscriptionId}/resourceGroups/rg/providers/Microsoft.Web/sites/func-receiver"
STARTING = Failure(message="Operation returned an invalid status 'Bad Request': ServiceUnavailable from host runtime")


def package(folder: Path, trigger: str = "blobTrigger", *, digest: str = NEW) -> Path:
    """Write an archive with a digest, whose function.json has the trigger of the parser."""
    archive = folder / f"{trigger}-{digest[:3]}.zip"
    binding = {"type": trigger}
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr("parser_function/function.json", json.dumps({"bindings": [binding]}))
        target.writestr(PACKAGE_FILE, digest)
    return archive


def list_keys(path: str, slot: str = "") -> dict[str, str]:
    """Return the options of a call that lists keys."""
    place = f"{SITE}/slots/{slot}" if slot else SITE
    return {"method": "post", "url": f"{place}/{path}/listkeys?api-version={WEB_API}"}


@pytest.fixture
def az(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AzureStandIn:
    """Azure with both apps deployed before: the keys exist, and every deployment succeeds."""
    stand_in = AzureStandIn(tmp_path / "bin")
    monkeypatch.setenv("PATH", stand_in.environment()["PATH"])
    stand_in.outputs("rg", OUTPUTS)
    for command in (ZIP, SWAP, "deployment group create"):
        stand_in.answer(command, {"status": "Succeeded"})
    stand_in.answer(KEYS, {"systemKeys": {EXTENSION_KEY: "secret-of-the-extension"}, "masterKey": "m"})
    stand_in.answer("rest", {"functionKeys": {"default": KEY}, "masterKey": "m"}, **list_keys("host/default"))
    stand_in.answer("functionapp show", {"defaultHostName": "func-receiver-staging.azurewebsites.net"})
    return stand_in


@contextmanager
def receiver_at(*statuses: int, token: str = "") -> Iterator[str]:
    """Serve a receiver that answers with each status in turn; the last one repeats. A 400 needs key and token."""
    remaining_statuses = list(statuses)

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """The lineage page, whose sign-in is at an address where nobody answers."""
            self.send_response({"/open": 200, "/broken": 503}.get(self.path, 302))
            self.send_header("Location", "http://127.0.0.1:9/")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            status = remaining_statuses.pop(0) if len(remaining_statuses) > 1 else remaining_statuses[0]
            allowed = not token or self.headers["Authorization"] == f"Bearer {token}"
            if status == 400 and not (allowed and self.headers["x-functions-key"] == KEY):
                status = 401
            self.send_response(status if self.path == "/api/v1/lineage" else 404)
            if status == 400:
                self.send_header(PACKAGE_HEADER, NEW)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
            """Keep requests out of the tested standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def deploy(az: AzureStandIn, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in an otherwise empty environment."""
    return subprocess.run(
        [sys.executable, "-m", "throughline.cli.deploy", *arguments],
        cwd=ROOT,
        env=az.environment(**environment),
        capture_output=True,
        text=True,
        check=False,
    )


def changes(az: AzureStandIn) -> list[tuple[str, str]]:
    """Return the calls that change something: the command, and the app with its slot."""
    return [
        (call.command, "/".join(filter(None, (call.options.get("--name"), call.options.get("--slot")))))
        for call in az.calls
        if not call.command.endswith((" show", " list")) and "/listkeys?" not in call.options.get("--url", "")
    ]


def target(**changed: str) -> Target:
    return from_azd({**OUTPUTS, "AZURE_RESOURCE_GROUP": "rg", **changed})


LONG_WAIT = PollLimits(seconds=60, pause=0.01)
SHORT_WAIT = PollLimits(seconds=0.2, pause=0.01)


def test_the_outputs_of_a_deployment_determine_the_targets(az: AzureStandIn, tmp_path: Path) -> None:
    archive = package(tmp_path)
    with receiver_at(400) as url:
        az.outputs("rg", OUTPUTS | {"RECEIVER_URL": url})
        outcome = deploy(az, "rg", "--subscription", "sub", "--package", str(archive))
    assert outcome.returncode == 0, outcome.stderr
    assert changes(az) == [
        (ZIP, "func-worker"),
        ("deployment group create", "subscription-func-worker"),
        (ZIP, "func-receiver"),
    ]
    assert {call.options["--subscription"] for call in az.calls} == {"sub"}
    assert {call.options["--src"] for call in az.of(ZIP)} == {str(archive)}
    assert {call.options["--build-remote"] for call in az.of(ZIP)} == {"false"}
    (create_call,) = az.of("deployment group create")
    assert create_call.options["--template-file"] == str(ROOT / "infra/subscription.bicep")
    assert create_call.options["--parameters"] == "topicName=evgt-lineage workerName=func-worker"


def test_the_deployment_prints_the_remaining_steps(az: AzureStandIn, tmp_path: Path) -> None:
    with receiver_at(400) as url:
        az.outputs("rg", OUTPUTS | {"RECEIVER_URL": url})
        outcome = deploy(az, "rg", "--environment", "lineage", "--package", str(package(tmp_path)))
    assert f"{url}/api/v1/lineage (RECEIVER in docs/operate/deploy.md is func-receiver)" in outcome.stdout
    assert "The storage account: stabc" in outcome.stdout
    assert "throughline purview grant --account PURVIEW --collection COLLECTION --principal 0000-1111" in outcome.stdout
    assert KEY not in outcome.stdout + outcome.stderr


def page_beside(archive: Path) -> Path:
    """Write a package of the lineage page beside one of the functions."""
    page_archive = archive.with_name(f"{archive.stem}-lineage.zip")
    with zipfile.ZipFile(page_archive, "w") as written_archive:
        written_archive.writestr("lineage_function/function.json", "{}")
    return page_archive


def test_the_lineage_page_is_deployed_last(az: AzureStandIn, tmp_path: Path) -> None:
    archive = package(tmp_path)
    page_archive = page_beside(archive)
    with receiver_at(400) as url:
        page = {"LINEAGE_NAME": "func-lineage", "LINEAGE_URL": f"{url}/page"}
        az.outputs("rg", OUTPUTS | {"RECEIVER_URL": url} | page)
        outcome = deploy(az, "rg", "--package", str(archive))
    assert outcome.returncode == 0, outcome.stderr
    assert f"The lineage page:    {url}/page" in outcome.stdout
    assert [name for command, name in changes(az) if command == ZIP] == ["func-worker", "func-receiver", "func-lineage"]
    assert az.of(ZIP)[-1].options["--src"] == str(page_archive)


@pytest.mark.usefixtures("az")
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/open", "answers 200 to who has not signed in: all lineage is open"),
        ("/broken", "Receiver and worker are deployed, and are not touched by it. Seen last, after 0 s: 503"),
    ],
)
def test_a_lineage_page_that_asks_nobody_to_sign_in_is_an_error(tmp_path: Path, path: str, message: str) -> None:
    with receiver_at(400) as url:
        page = target(LINEAGE_NAME="func-lineage", LINEAGE_URL=f"{url}{path}")

        def deploy_page(*, probe: bool) -> None:
            archive = page_beside(package(tmp_path))
            progress = Progress(io.StringIO())
            deploy_lineage(AzureCli(), page, archive, limits=SHORT_WAIT, progress=progress, probe=probe)

        with pytest.raises(DeployError, match=message):
            deploy_page(probe=True)
        deploy_page(probe=False)


def test_a_missing_package_of_the_lineage_page_is_reported_before_any_change(az: AzureStandIn, tmp_path: Path) -> None:
    az.outputs("rg", OUTPUTS | {"LINEAGE_NAME": "func-lineage", "LINEAGE_URL": "https://page"})
    outcome = deploy(az, "rg", "--package", str(package(tmp_path)))
    assert (outcome.returncode, changes(az)) == (1, [])
    assert "blobTrigger-bbb-lineage.zip is no package of it" in outcome.stderr
    assert "--app lineage" in outcome.stderr


def test_outputs_and_subscription_of_azd_are_used(az: AzureStandIn, tmp_path: Path) -> None:
    queue = package(tmp_path, "queueTrigger")
    with receiver_at(400) as url:
        azd_outputs = OUTPUTS | {"RECEIVER_URL": url, "DELIVERY": "queue"}
        outcome = deploy(
            az, AZURE_RESOURCE_GROUP="rg", AZURE_SUBSCRIPTION_ID="azd's", THROUGHLINE_PACKAGE=str(queue), **azd_outputs
        )
    assert outcome.returncode == 0, outcome.stderr
    assert not az.of("deployment")  # no outputs are read, no subscription is created
    assert {call.options["--subscription"] for call in az.calls} == {"azd's"}
    assert changes(az) == [(ZIP, "func-worker"), (ZIP, "func-receiver")]


def test_variables_of_another_environment_in_the_shell_are_not_used(az: AzureStandIn, tmp_path: Path) -> None:
    with receiver_at(400) as url:
        az.outputs("rg", OUTPUTS | {"RECEIVER_URL": url})
        outcome = deploy(az, "rg", "--package", str(package(tmp_path)), RECEIVER_NAME="func-of-yesterday")
    assert outcome.returncode == 0, outcome.stderr
    assert not any("func-of-yesterday" in call.arguments for call in az.calls)


def test_a_receiver_that_asks_for_a_token_of_entra_id_is_asked_with_one(az: AzureStandIn, tmp_path: Path) -> None:
    bearer = "of-the-cli"
    az.answer("account get-access-token", {"accessToken": bearer}, scope="api://the-receiver/.default")
    with receiver_at(400, token=bearer) as url:
        az.outputs("rg", OUTPUTS | {"RECEIVER_URL": url, "ENTRA_APPLICATION_ID": "the-receiver"})
        outcome = deploy(az, "rg", "--package", str(package(tmp_path)))
    assert outcome.returncode == 0, outcome.stderr
    assert bearer not in outcome.stdout + outcome.stderr


def test_without_a_token_nothing_is_deployed_unless_it_is_not_to_be_asked(az: AzureStandIn, tmp_path: Path) -> None:
    az.answer("account get-access-token", Failure(message="AADSTS65001: The user has not consented"))
    az.outputs("rg", OUTPUTS | {"ENTRA_APPLICATION_ID": "the-receiver"})
    outcome = deploy(az, "rg", "--package", str(package(tmp_path)))
    assert (outcome.returncode, changes(az)) == (1, [("account get-access-token", "")])
    assert "entraCallers" in outcome.stderr
    assert deploy(az, "rg", "--package", str(package(tmp_path)), "--no-probe").returncode == 0


def test_a_missing_group_is_refused_with_a_message(az: AzureStandIn) -> None:
    outcome = deploy(az)
    assert (outcome.returncode, az.calls) == (2, ())
    assert "name the resource group, as in: python3 -m throughline.cli.deploy GROUP" in outcome.stderr


@pytest.mark.parametrize("name", sorted(set(OUTPUTS) - OPTIONAL))
@pytest.mark.parametrize("value", ["", " ", None])
def test_an_output_without_a_value_ends_the_deployment_with_a_message(name: str, value: str | None) -> None:
    azd_outputs = {key: text for key, text in OUTPUTS.items() if key != name or value is not None}
    with pytest.raises(DeployError, match=rf"has no value for {name}, .* Run: azd provision"):
        from_azd(azd_outputs | ({name: value} if value is not None else {}))


def test_a_missing_output_is_reported_before_any_change(az: AzureStandIn, tmp_path: Path) -> None:
    az.outputs("rg", OUTPUTS | {"WORKER_NAME": ""})
    outcome = deploy(az, "rg", "--package", str(package(tmp_path)))
    assert outcome.returncode == 1
    assert "The deployment throughline has no value for WORKER_NAME" in outcome.stderr
    assert changes(az) == []


def test_an_unknown_delivery_is_refused() -> None:
    assert from_azd(OUTPUTS | {"DELIVERY": "queue", "AZURE_RESOURCE_GROUP": "rg"}).delivery == "queue"
    with pytest.raises(DeployError, match="'pigeon', not one of eventGrid, queue"):
        from_azd(OUTPUTS | {"DELIVERY": "pigeon"})


def test_a_package_for_another_delivery_is_refused(az: AzureStandIn, tmp_path: Path) -> None:
    outcome = deploy(az, "rg", "--package", str(package(tmp_path, "queueTrigger")))
    assert outcome.returncode == 1
    assert "was made for queue, but this deployment delivers events by eventGrid" in outcome.stderr
    assert changes(az) == []
    archive = package(tmp_path)
    assert checked(archive, "eventGrid") == Package(archive=archive, digest=NEW, delivery="eventGrid")
    (tmp_path / "no.zip").write_text("no archive")
    with pytest.raises(DeployError, match="is no package of the functions"):
        read_package(tmp_path / "no.zip")


def test_the_subscription_waits_for_the_key_of_the_extension(az: AzureStandIn, tmp_path: Path) -> None:
    """The host creates it after loading the extension; until then it refuses, or has none."""
    loading: dict[str, dict[str, str]] = {"systemKeys": {}, "functionKeys": {}}
    az.answer(KEYS, STARTING, loading, loading, {"systemKeys": {EXTENSION_KEY: "secret"}}, name="func-worker")
    progress_text = io.StringIO()
    deploy_worker(AzureCli(), target(), package(tmp_path), limits=LONG_WAIT, progress=Progress(progress_text))
    commands = [call.command for call in az.calls]
    assert commands == [ZIP, *[KEYS] * 4, "deployment group create"]
    assert all(call.options["--query"].startswith("length(") for call in az.of(KEYS))  # never the key itself
    assert "wait for the worker's key blobs_extension: done" in progress_text.getvalue()


def test_the_wait_for_a_missing_key_ends_with_the_next_step(az: AzureStandIn, tmp_path: Path) -> None:
    az.answer(KEYS, STARTING)
    with pytest.raises(DeployError, match=r"has not made the key blobs_extension.*throughline doctor.*Bad Request"):
        deploy_worker(AzureCli(), target(), package(tmp_path), limits=SHORT_WAIT, progress=Progress(io.StringIO()))
    assert not az.of("deployment group create")


@pytest.mark.parametrize(
    "failure",
    [
        Failure(code="AuthorizationFailed", message="The client does not have authorization."),
        Failure(message="Please run 'az login' to setup account."),
    ],
    ids=["no right", "not signed in"],
)
def test_an_error_that_waiting_cannot_resolve_is_reported_at_once(
    az: AzureStandIn, tmp_path: Path, failure: Failure
) -> None:
    az.answer(KEYS, failure)
    with pytest.raises(AzureCliError):
        deploy_worker(AzureCli(), target(), package(tmp_path), limits=LONG_WAIT, progress=Progress(io.StringIO()))
    assert len(az.of(KEYS)) == 1


def test_a_failed_webhook_handshake_is_repeated(az: AzureStandIn, tmp_path: Path) -> None:
    refused = Failure(code="URLValidation", message="Webhook validation handshake failed.")
    az.answer("deployment group create", refused, {"status": "Succeeded"})
    deploy_worker(AzureCli(), target(), package(tmp_path), limits=LONG_WAIT, progress=Progress(io.StringIO()))
    assert len(az.of("deployment group create")) == 2
    az.answer("deployment group create", Failure(code="InvalidTemplate", message="It is wrong."))
    with pytest.raises(AzureCliError, match="It is wrong"):
        deploy_worker(AzureCli(), target(), package(tmp_path), limits=LONG_WAIT, progress=Progress(io.StringIO()))
    assert len(az.of("deployment group create")) == 3


def test_the_probe_sends_the_key_in_a_header_and_reads_the_package_s_digest() -> None:
    with receiver_at(400, 503, 400) as url:
        seen_probe_answers = [post_nothing(f"{url}/api/v1/lineage", key) for key in (KEY, KEY, "", "wrong")]
        assert seen_probe_answers == [
            ProbeAnswer(status=400, package=NEW),
            *(ProbeAnswer(status=status) for status in (503, 401, 401)),
        ]
        assert post_nothing(f"{url}/elsewhere", KEY).status == 404
    assert post_nothing(f"{url}/api/v1/lineage", KEY).status == 0  # nothing listens there any more


def test_a_swap_is_done_by_commands_of_az_with_no_key_among_their_words(az: AzureStandIn, tmp_path: Path) -> None:
    with receiver_at(400) as url:
        az.outputs("rg", OUTPUTS | {"RECEIVER_URL": url, "RECEIVER_SLOT": "staging"})
        az.answer("rest", {"functionKeys": {"old": "x"}}, **list_keys("host/default", "staging"))
        for slot in ("", "staging"):
            az.answer("rest", {"default": "same"}, **list_keys("functions/receiver_function", slot))
        keys = f"{SITE}/slots/staging/host/default/functionkeys"
        az.answer("rest", {}, method="put", url=f"{keys}/default?api-version={WEB_API}")
        az.answer("rest", {}, method="delete", url=f"{keys}/old?api-version={WEB_API}")
        az.answer(RESTART)
        az.answer("functionapp show", {"defaultHostName": "127.0.0.1:9"})
        outcome = deploy(az, "rg", "--package", str(package(tmp_path)), "--wait", "0.1")
    assert "Production still runs the version before, and was not touched." in outcome.stderr, (
        "the slot has no TLS here"
    )
    (put,) = [call for call in az.of("rest") if call.options["--method"] == "put"]
    assert json.loads(put.options["--body"]) == {"properties": {"name": "default", "value": KEY}}
    assert [call.options["--url"] for call in az.of("rest") if call.options["--method"] == "delete"]
    assert changes(az)[:2] == [(ZIP, "func-receiver/staging"), (RESTART, "func-receiver/staging")]


def test_ctrl_c_ends_the_deployment_with_a_message_and_without_processes(az: AzureStandIn, tmp_path: Path) -> None:
    (az.folder / "az").write_text('#!/bin/sh\necho $$ > "$0.pid"\nexec sleep 60\n')
    deployment_process = subprocess.Popen(
        [sys.executable, "-c", _WITH_DEFAULT_SIGNALS, "rg", "--package", str(package(tmp_path))],
        cwd=ROOT,
        env=az.environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    note = az.folder / "az.pid"
    while not (note.exists() and note.read_text().strip()):
        assert deployment_process.poll() is None
        time.sleep(0.02)
    os.killpg(deployment_process.pid, signal.SIGINT)  # to the whole group, as a terminal does
    _, output = deployment_process.communicate(timeout=60)
    assert deployment_process.returncode == 130
    assert "Running the same command again is safe." in output
    assert "Traceback" not in output
    deadline = time.monotonic() + 20
    while psutil.pid_exists(int(note.read_text())):  # until init has reaped it, as it reaps all orphans
        assert time.monotonic() < deadline
        time.sleep(0.02)


_WITH_DEFAULT_SIGNALS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from throughline.cli.deploy.command import main
sys.exit(main())
"""


def test_progress_counts_seconds_on_a_terminal_and_only_start_and_end_in_a_log() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        progress = Progress(stream)
        with progress.step("deploy the worker") as step:
            step.detail = "starting"
            time.sleep(0.6)
        with pytest.raises(DeployError), progress.step("swap"):
            raise DeployError("no")
        assert progress.done == ["deploy the worker"]
    assert log.getvalue().splitlines() == [
        "deploy the worker …",
        "deploy the worker: done (1 s)",
        "swap …",
        "swap: failed (0 s)",
    ]
    assert "\rdeploy the worker (starting) … 1 s\x1b[K" in terminal.getvalue()


def test_help_names_the_steps_and_shows_examples() -> None:
    outcome = subprocess.run(
        [sys.executable, "-S", "-m", "throughline.cli.deploy", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "The worker goes before the swap because" in outcome.stdout
    assert "python3 -m throughline.cli.deploy lineage --rollback" in outcome.stdout


def test_the_deployment_can_be_imported_without_any_package() -> None:
    """It runs before any environment exists: -S excludes installed packages, -I the shell's additions."""
    modules = [
        f"throughline.cli.deploy.{module.stem}" for module in sorted((ROOT / "throughline/cli/deploy").glob("*.py"))
    ]
    assert "throughline.cli.deploy.packaging" in modules
    statements = f"import importlib, sys; sys.path.insert(0, {str(ROOT)!r}); "
    statements += f"[importlib.import_module(name) for name in {modules!r}]"
    outcome = subprocess.run(
        [sys.executable, "-I", "-S", "-c", statements], capture_output=True, text=True, check=False, env={}
    )
    assert outcome.returncode == 0, outcome.stderr
