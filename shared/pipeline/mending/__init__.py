"""Finding and mending what is damaged of our record and of what the catalog holds of it."""

from shared.pipeline.mending.damage import Damage, Kind, Stage, World
from shared.pipeline.mending.kinds import KINDS
from shared.pipeline.mending.verify import Found, verify

__all__ = ["KINDS", "Damage", "Found", "Kind", "Stage", "World", "verify"]
