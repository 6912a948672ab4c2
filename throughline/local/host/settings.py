"""App settings, from the environment and local.settings.json, and the bindings' references to them."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

_REFERENCE = re.compile(r"%([^%]+)%")


class AppError(Exception):
    """The app can't run; `problems` has one sentence for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load_local_settings(root: Path) -> None:
    """Add the Values of `local.settings.json`, if it exists, to the environment, unless they are already set there.

    Format: https://learn.microsoft.com/azure/azure-functions/functions-develop-local#local-settings-file
    Raises AppError when Azure's tools would not accept the file.
    """
    path = root / "local.settings.json"
    if not path.exists():
        return
    settings = read_json(path)
    if settings.get("IsEncrypted"):
        raise AppError([f"{path.name}: encrypted settings can't be read here, run `func settings decrypt`"])
    values = settings.get("Values", {})
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise AppError([f"{path.name}: Values must be an object of strings"])
    for name, value in values.items():
        os.environ.setdefault(name, value)


def read_json(path: Path) -> dict[str, object]:
    """Return the JSON object in a file of the app. Raises AppError when there is none."""
    name = f"{path.parent.name}/{path.name}"
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise AppError([f"{name}: can't be read as JSON: {error}"]) from error
    if not isinstance(content, dict):
        raise AppError([f"{name}: must hold a JSON object"])
    return content


class UnsetError(Exception):
    """A setting is not set; the message is its name."""


def expand(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Replace every `%SETTING%` by its value. Raises UnsetError."""
    try:
        return _REFERENCE.sub(lambda reference: environment[reference[1]], text)
    except KeyError as error:
        raise UnsetError(error.args[0]) from error


def connection_string() -> str:
    """Return the connection string of the app's storage. Raises AppError when there is none."""
    if text := os.environ.get("AzureWebJobsStorage"):  # noqa: SIM112 -- Azure's own spelling
        return text
    raise AppError(["the app setting AzureWebJobsStorage is missing: it must be a storage connection string"])
