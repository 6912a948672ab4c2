"""Evaluate the templates by Microsoft's Bicep compiler: `bicep snapshot` evaluates a template as Azure does.

A snapshot has all values that are known before a deployment starts. Later ones (a client id, the cloud's suffixes) stay
expressions, texts in square brackets.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.infra.azure_roles import IDS

INFRA = Path(__file__).parents[2] / "infra"
GROUP = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg"
_PLACE = ("--subscription-id", GROUP.split("/")[2], "--resource-group", "rg", "--location", "westeurope")
_SECONDS = 300
_NAMES = {number: name for name, number in IDS.items()}
_IDENTITY = re.compile(
    r"userAssignedIdentities/id-\w+-(receiver|worker|lineage)'|Microsoft.EventGrid/systemTopics|^[\da-f-]{36}$"
)
_ASSIGNMENT = "/providers/Microsoft.Authorization/"


def compiler() -> str | None:
    """Return the compiler's path; None when it is not installed."""
    return shutil.which("bicep")


def bicep(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the compiler."""
    command = [compiler() or "bicep", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS, env=environment)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Right:
    """An identity's role on a scope and everything below it; `scope` is a path below the resource group."""

    identity: str
    role: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A template's resources, outputs and diagnostics."""

    resources: tuple[Mapping[str, Any], ...]
    outputs: Mapping[str, Any]
    diagnostics: tuple[str, ...] = field(default=())

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """All resources of a type."""
        return [resource for resource in self.resources if resource["type"] == kind]

    def settings(self, site: str) -> Mapping[str, str]:
        """Return the app settings of the app or slot (`receiver/staging`) whose name contains this."""
        app, _, slot = site.partition("/")
        for resource in self.resources:
            name = str(resource["name"]).split("/")
            if name[-1] == "appsettings" and f"-{app}-" in name[0] and name[1:-1] == ([slot] if slot else []):
                properties: Mapping[str, str] = resource["properties"]
                return properties
        raise LookupError(site)

    def body(self, app: str) -> Mapping[str, Any]:
        """An app's properties."""
        (site,) = [resource for resource in self.of("Microsoft.Web/sites") if f"-{app}-" in resource["name"]]
        properties: Mapping[str, Any] = site["properties"]
        return properties

    @property
    def rights(self) -> frozenset[Right]:
        """The rights of all identities."""
        return frozenset(self._rights())

    def _rights(self) -> Iterator[Right]:
        for assignment in self.of("Microsoft.Authorization/roleAssignments"):
            yield Right(
                identity=_identity(assignment["properties"]["principalId"]),
                role=_NAMES[assignment["properties"]["roleDefinitionId"].rpartition("/")[2]],
                scope=assignment["id"].rpartition(_ASSIGNMENT)[0].removeprefix(f"{GROUP}/providers/"),
            )

    def reaching(self, identity: str, scope: str) -> set[str]:
        """Return the roles of an identity on a scope, granted there or above."""
        return {
            right.role
            for right in self.rights
            if right.identity == identity and f"{scope}/".startswith(f"{right.scope}/")
        }


def _identity(principal: str) -> str:
    """Return whose id a principal's expression gives: an app's, the topic's, or the given group of operators."""
    match = _IDENTITY.search(principal)
    assert match, principal
    return match[1] or ("topic" if "systemTopics" in principal else "operators")


def evaluated(folder: Path, template: Path, parameters: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    """Write a snapshot of a compiled template with these parameters to the new `folder`; return the process."""
    folder.mkdir()
    lines = [f"param {name} = {_literal(value)}" for name, value in parameters.items()]
    shutil.copyfile(template, folder / "main.json")
    file = folder / "given.bicepparam"
    file.write_text("\n".join(["using 'main.json'", *lines, ""]))
    return bicep("snapshot", file, "--mode", "overwrite", *_PLACE)


def snapshot(folder: Path, template: Path, parameters: Mapping[str, Any]) -> Snapshot:
    """Return the snapshot of a compiled template with these parameters."""
    outcome = evaluated(folder, template, parameters)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return _read(folder / "given.snapshot.json")


def snapshot_of(file: Path, environment: Mapping[str, str]) -> Snapshot:
    """Return the snapshot of a file of parameters, with these environment variables."""
    outcome = bicep("snapshot", file, "--mode", "overwrite", *_PLACE, environment=environment)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return _read(file.with_suffix(".snapshot.json"))


def _read(file: Path) -> Snapshot:
    document = json.loads(file.read_text())
    return Snapshot(
        resources=tuple(document["predictedResources"]),
        outputs=document["outputs"],
        diagnostics=tuple(document["diagnostics"]),
    )


def _literal(value: Any) -> str:
    """Return a value in Bicep's syntax."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"'{key}': {_literal(item)}" for key, item in value.items()) + " }"
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int) else f"'{value}'"
