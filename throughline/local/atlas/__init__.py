"""A real Apache Atlas for one machine: its pinned installation, and a launcher that leaves nothing behind.

docs/reference/apache-atlas.md says how it answers.
"""

from throughline.local.atlas.install import install
from throughline.local.atlas.server import PASSWORD, USER, USUAL_PORT, AtlasServer

__all__ = ["PASSWORD", "USER", "USUAL_PORT", "AtlasServer", "install"]
