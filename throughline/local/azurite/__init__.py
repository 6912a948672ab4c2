"""Azurite, Microsoft's storage emulator: its pinned installation and a launcher that leaves nothing behind."""

from throughline.local.azurite.install import install
from throughline.local.azurite.server import ACCOUNT, KEY, USUAL_PORTS, Azurite

__all__ = ["ACCOUNT", "KEY", "USUAL_PORTS", "Azurite", "install"]
