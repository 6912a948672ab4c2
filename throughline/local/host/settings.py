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


def expand(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Replace every `%SETTING%` by its value. Raises KeyError with the name of a setting that is not set."""
    return _REFERENCE.sub(lambda reference: environment[reference[1]], text)


def connection_string(setting: str) -> str:
    """Return the connection string that a binding's `connection` names, with or without the prefix AzureWebJobs.

    Raises KeyError, with a message for the user, when there is none or it only works in Azure.
    """
    for name in (setting, f"AzureWebJobs{setting}"):
        if os.environ.get(name):
            return os.environ[name]
        if any(key.startswith(f"{name}__") for key in os.environ):
            raise KeyError(f"the setting {name}__… uses an identity: here {name} must be a connection string")
    raise KeyError(f"the app setting {setting} is missing: it must be a storage connection string")
