"""App settings: the environment, completed by local.settings.json, and how bindings refer to them."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

_REFERENCE = re.compile(r"%([^%]+)%")


class AppError(Exception):
    """The app can't be run as it stands; `problems` has one sentence for each thing to mend."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load_local_settings(root: Path) -> None:
    """Add the Values of `local.settings.json`, when there is one, to the environment; what is set there stays.

    Format: https://learn.microsoft.com/azure/azure-functions/functions-develop-local#local-settings-file
    Raises AppError when the file is not what Azure's tools accept.
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
    """Return the JSON object in a file of the app; AppError when it is none."""
    name = f"{path.parent.name}/{path.name}"
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise AppError([f"{name}: can't be read as JSON: {error}"]) from error
    if not isinstance(content, dict):
        raise AppError([f"{name}: must hold a JSON object"])
    return content


def expand(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Replace every `%SETTING%` by its value; KeyError with the setting's name when it is not set."""
    return _REFERENCE.sub(lambda reference: environment[reference[1]], text)


def connection_string(setting: str) -> str:
    """Return the connection string that a binding's `connection` names, with the prefix AzureWebJobs or without.

    KeyError with a sentence for the user when there is none, or one that only works in Azure.
    """
    for name in (setting, f"AzureWebJobs{setting}"):
        if os.environ.get(name):
            return os.environ[name]
        if any(key.startswith(f"{name}__") for key in os.environ):
            raise KeyError(f"the setting {name}__… uses an identity: here {name} must be a connection string")
    raise KeyError(f"the app setting {setting} is missing: it must be a storage connection string")
