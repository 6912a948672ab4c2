"""What Azure keeps of deployments of infra/main.bicep: azd, pipelines and people name them differently.

So they are found by their parameters, and deployed again with those of the last good one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from throughline.cli.deploy.azure_cli import Az
from throughline.cli.deploy.progress import DeployError, Progress
from throughline.project import ROOT

_OURS = "[?properties.parameters.environmentName && properties.parameters.purviewAccountName]"
_GOOD = "Succeeded"
_NAME = "throughline"
_TEMPLATE = ROOT / "infra/main.bicep"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentRecord:
    """One deployment. `outputs` are texts by their names in capitals, whatever case Azure gave them; `parameters` are
    all that were given or had a default, without the values of secret ones. `error` is Azure's, empty where it is good.
    """

    name: str
    state: str
    error: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, Any]

    @property
    def good(self) -> bool:
        """Whether it has ended well, with its outputs."""
        return self.state == _GOOD and bool(self.outputs)

    @property
    def environment(self) -> str:
        """Its parameter environmentName, which is part of the names of all resources."""
        return str(self.parameters["environmentName"])


def deployment_records(az: Az, group: str, environment: str = "") -> tuple[DeploymentRecord, ...]:
    """Return the deployments of infra/main.bicep in a group, the newest first; of one environment if it is given.

    Raises AzureCliError.
    """
    answers = az.json("deployment", "group", "list", "--resource-group", group, "--query", _OURS) or ()
    newest_first = sorted(answers, key=lambda answer: _time(answer["properties"]), reverse=True)
    records = map(_record, newest_first)
    return tuple(record for record in records if environment in ("", record.environment))


def last_good(az: Az, group: str, environment: str = "") -> DeploymentRecord:
    """Return the newest deployment that has ended well. Raises DeployError and AzureCliError."""
    records = [record for record in deployment_records(az, group, environment) if record.good]
    names = sorted({record.environment for record in records})
    if not records:
        called = f" of environment {environment}" if environment else ""
        raise DeployError(
            f"Group {group} has no deployment of infra/main.bicep{called} that ended well. Make one (docs/operate/"
            f"deploy.md, step 2); what it has: az deployment group list --resource-group {group} --output table"
        )
    if len(names) > 1:
        raise DeployError(f"Group {group} has several environments: name one by --environment: {', '.join(names)}")
    return records[0]


def deploy_template(
    az: Az, group: str, record: DeploymentRecord, changes: Mapping[str, str], progress: Progress
) -> None:
    """Deploy infra/main.bicep with the parameters on record, and these changes. Raises DeployError and AzureCliError.

    Parameters that the template no longer has are left out.
    """
    names = _names()
    if unknown := sorted(changes.keys() - names):
        raise DeployError(f"infra/main.bicep has no parameter {', '.join(unknown)} (docs/operate/deploy.md, step 2)")
    if invented := [value for value in changes.values() if "EXAMPLE.COM" in value]:
        raise DeployError(f"{invented[0]} stands for an address of yours: put it in its place")
    removed = sorted(record.parameters.keys() - names)
    title = f"deploy infra/main.bicep with the parameters of {record.name}"
    title += f", without {', '.join(removed)}" if removed else ""
    create = ("deployment", "group", "create", "--resource-group", group, "--name", _NAME)
    with template_words(record.parameters) as words, progress.step(title):
        az.json(*create, *words, *(f"{name}={value}" for name, value in changes.items()))


@contextmanager
def template_words(parameters: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the words by which `az` takes infra/main.bicep with those of these parameters that it has."""
    values = {name: {"value": parameters[name]} for name in _names() if parameters.get(name) is not None}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "parameters.json"
        file.write_text(json.dumps({"contentVersion": "1.0.0.0", "parameters": values}), encoding="utf-8")
        yield ("--template-file", str(_TEMPLATE), "--parameters", f"@{file}")


def _names() -> set[str]:
    """The names of the template's parameters."""
    return set(re.findall(r"^param (\w+)", _TEMPLATE.read_text(encoding="utf-8"), re.MULTILINE))


def _time(properties: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(properties["timestamp"])


def _record(answer: Mapping[str, Any]) -> DeploymentRecord:
    properties = answer["properties"]
    error, outputs = properties.get("error") or {}, properties.get("outputs") or {}
    return DeploymentRecord(
        name=answer["name"],
        state=properties["provisioningState"],
        error=f"{error['code']}: {error.get('message', '')}" if error.get("code") else "",
        outputs={name.upper(): _text(output.get("value")) for name, output in outputs.items()},
        parameters={name: value.get("value") for name, value in properties["parameters"].items()},
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)
