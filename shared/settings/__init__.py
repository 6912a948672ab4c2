"""What can be set: a table, the values that it gives, and the only reader of the environment."""

from shared.settings.reading import differing, load, named
from shared.settings.recording import RECORDED, Difference
from shared.settings.table import ENDPOINT, SETTINGS, SHADOW, Setting, Source
from shared.settings.values import CatalogSettings, Patterns, Settings, StorageSettings, TelemetrySettings

__all__ = [
    "ENDPOINT",
    "RECORDED",
    "SETTINGS",
    "SHADOW",
    "CatalogSettings",
    "Difference",
    "Patterns",
    "Setting",
    "Settings",
    "Source",
    "StorageSettings",
    "TelemetrySettings",
    "differing",
    "load",
    "named",
]
