"""What can be set: a table, the values that it gives, and the only reader of the environment."""

from shared.settings.reading import load, named
from shared.settings.table import SETTINGS, Setting
from shared.settings.values import CatalogSettings, Patterns, Settings, StorageSettings, TelemetrySettings

__all__ = [
    "SETTINGS",
    "CatalogSettings",
    "Patterns",
    "Setting",
    "Settings",
    "StorageSettings",
    "TelemetrySettings",
    "load",
    "named",
]
