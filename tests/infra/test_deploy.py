"""infra/deploy.sh with programs in place of `az` and `make` that note how they were called."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "infra/deploy.sh"
OUTPUTS = {
    "RECEIVER_NAME": "func-receiver",
    "RECEIVER_URL": "https://func-receiver.azurewebsites.net",
    "WORKER_NAME": "func-worker",
    "WORKER_PRINCIPAL_ID": "0000-1111",
    "EVENT_TOPIC_NAME": "evgt-lineage",
    "STORAGE_ACCOUNT_NAME": "stabc",
}
AZ = """#!/bin/sh
echo "az $*" >> "$CALLS"
case "$*" in
{answers}
esac
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with both programs; `az` answers for each output of the deployment, with Event Grid."""
    folder = tmp_path / "bin"
    folder.mkdir()
    answers = {**OUTPUTS, "DELIVERY": "eventGrid"}
    lines = "\n".join(
        f"  *properties.outputs.{name}.value*) printf '%s\\n' '{value}' ;;" for name, value in answers.items()
    )
    (folder / "az").write_text(AZ.replace("{answers}", lines))
    (folder / "make").write_text('#!/bin/sh\necho "make $*" >> "$CALLS"\n')
    for program in folder.iterdir():
        program.chmod(0o755)
    return folder


def run(programs: Path, *arguments: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    calls = programs.parent / "calls"
    calls.touch()
    done = subprocess.run(
        ["sh", str(SCRIPT), *arguments],
        env={"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "CALLS": str(calls), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done, calls.read_text().splitlines()


def doing(calls: list[str]) -> list[str]:
    """The calls that change something."""
    return [call for call in calls if "group show" not in call]


DEPLOYED = (
    "az functionapp deployment source config-zip --resource-group rg --name {} --src build/package/throughline.zip"
)


def test_the_outputs_of_a_deployment_say_what_goes_where(programs: Path) -> None:
    done, calls = run(programs, "rg")
    assert done.returncode == 0, done.stderr
    made, receiver, worker, subscribed = doing(calls)
    assert made == "make package DELIVERY=eventGrid"
    assert receiver.startswith(DEPLOYED.format("func-receiver"))
    assert worker.startswith(DEPLOYED.format("func-worker"))
    assert "--template-file infra/subscription.bicep" in subscribed
    assert subscribed.endswith("--parameters topicName=evgt-lineage workerName=func-worker")
    assert all("--name throughline " in call for call in calls if "group show" in call)
    assert "https://func-receiver.azurewebsites.net/api/v1/lineage" in done.stdout
    assert "principal 0000-1111" in done.stdout
    assert "RECEIVER in docs/azure.md is func-receiver" in done.stdout
    assert "The storage account: stabc" in done.stdout


def test_azd_passes_the_outputs_on_itself(programs: Path) -> None:
    done, calls = run(programs, AZURE_RESOURCE_GROUP="rg", DELIVERY="polling", **OUTPUTS)
    assert done.returncode == 0, done.stderr
    assert calls == doing(calls)
    assert calls[0] == "make package DELIVERY=polling"
    assert len(calls) == 3  # and no subscription


def test_what_another_environment_left_in_the_shell_is_not_used(programs: Path) -> None:
    _, calls = run(programs, "rg", "other", RECEIVER_NAME="func-of-yesterday", DELIVERY="polling")
    assert not any("func-of-yesterday" in call for call in calls)
    assert any("--name other " in call for call in calls)


def test_without_a_group_one_sentence(programs: Path) -> None:
    done, calls = run(programs)
    assert (done.returncode, calls) == (2, [])
    assert "Say which resource group" in done.stderr


def test_a_failed_package_deploys_nothing(programs: Path) -> None:
    (programs / "make").write_text("#!/bin/sh\nexit 2\n")
    done, calls = run(programs, "rg")
    assert done.returncode == 2
    assert doing(calls) == []
