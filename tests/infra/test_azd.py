"""azure.yaml: its keys are azd's, its hooks run the deployment; infra/main.bicepparam reads azd's variables.

azd's schema is in no package registry: its keys are here, from `schemas/v1.0/azure.yaml.json` in Azure/azure-dev.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.infra.bicep import read
from throughline.cli.deploy.target import OPTIONAL

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
OWN = {"AZURE_ENV_NAME", "AZURE_LOCATION", "AZURE_SUBSCRIPTION_ID"}
"""The variables that azd sets itself, in its environment and by `azd pipeline config`."""

HOOK = {"shell", "run", "interactive", "continueOnError", "secrets", "kind", "dir", "config"}
COMMANDS = "provision infracreate infradelete down up package deploy publish restore build"
KEYS: dict[str, set[str]] = {
    "": {"name", "metadata", "infra", "services", "resources", "pipeline", "hooks", "workflows", "requiredVersions"}
    | {"resourceGroup", "state", "platform", "cloud"},
    "metadata": {"template"},
    "infra": {"provider", "path", "module", "layers"},
    "workflows": {"up"},
    "workflows.up": {"steps"},
    "workflows.up.steps": {"azd"},
    "hooks": {f"{when}{command}" for when in ("pre", "post") for command in COMMANDS.split()},
    "hooks.predeploy": HOOK | {"windows", "posix"},
    "hooks.predeploy.windows": HOOK,
    "hooks.predeploy.posix": HOOK,
    "pipeline": {"provider", "variables", "secrets"},
}


def load(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def unknown(value: Any, place: str = "") -> Iterator[str]:
    """Yield keys that azd does not know, by their paths."""
    if isinstance(value, Mapping):
        for key, inside in value.items():
            if key not in KEYS.get(place, set()):
                yield f"{place}.{key}".lstrip(".")
            else:
                yield from unknown(inside, f"{place}.{key}".lstrip("."))
    elif isinstance(value, list):
        for element in value:
            yield from unknown(element, place)


SOURCE = (ROOT / "azure.yaml").read_text()
PARAMETERS = (INFRA / "main.bicepparam").read_text()
AZURE = load(SOURCE)


def test_azd_knows_every_key() -> None:
    assert list(unknown(AZURE)) == []


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("interactive: true", "interactiv: true", "hooks.predeploy.posix.interactiv"),
        ("predeploy:", "beforedeploy:", "hooks.beforedeploy"),
        ("workflows:", "workflow:", "workflow"),
        ("- azd: provision", "- azdd: provision", "workflows.up.steps.azdd"),
    ],
)
def test_a_planted_key_is_found(old: str, new: str, place: str) -> None:
    assert old in SOURCE
    assert place in set(unknown(load(SOURCE.replace(old, new, 1))))


def test_each_operating_system_runs_the_same_deployment_in_its_own_shell() -> None:
    """A hook with `windows` and `posix` has no other key; without `exit` pwsh hides a failure."""
    hook = AZURE["hooks"]["predeploy"]
    assert set(hook) == {"windows", "posix"}
    assert (hook["posix"]["shell"], hook["posix"]["run"]) == ("sh", "python3 -m throughline.cli.deploy")
    assert (hook["windows"]["shell"], hook["windows"]["run"]) == (
        "pwsh",
        "python -m throughline.cli.deploy; exit $LASTEXITCODE",
    )


def test_azd_up_makes_the_resources_and_then_deploys() -> None:
    assert [step["azd"] for step in AZURE["workflows"]["up"]["steps"]] == ["provision", "deploy --all"]
    assert (AZURE["infra"]["path"], AZURE["infra"]["module"]) == ("infra", "main")
    assert (INFRA / "main.bicepparam").is_file()


def test_each_parameter_has_a_variable_of_the_azd_environment() -> None:
    """Azd prefers main.bicepparam to main.bicep, and compiles it with its environment's variables."""
    read_from = re.findall(
        r"^param (\w+) = .*?readEnvironmentVariable\(\s*'(\w+)'", PARAMETERS, re.MULTILINE | re.DOTALL
    )
    assert [name for name, _ in read_from] == list(read(INFRA / "main.bicep").params)
    variables = [variable for _, variable in read_from]
    assert len(set(variables)) == len(variables)
    assert set(variables) >= OWN - {"AZURE_SUBSCRIPTION_ID"}


def test_the_deployment_reads_existing_outputs() -> None:
    program = (ROOT / "throughline/cli/deploy/target.py").read_text()
    read_by_program = set(re.findall(r'\boutput\("(\w+)"\)', program))
    assert {"RECEIVER_NAME", "RECEIVER_SLOT", "WORKER_NAME", "DELIVERY", "EVENT_TOPIC_NAME"} <= read_by_program
    assert read_by_program - OPTIONAL <= read(INFRA / "main.bicep").outputs
    output_names = set(re.findall(r'f"(\w+)=\{target', (ROOT / "throughline/cli/deploy/worker.py").read_text()))
    subscription = read(INFRA / "subscription.bicep").params
    assert {name for name, needed in subscription.items() if needed} <= output_names <= set(subscription)
