"""The versions of what Throughline writes: raise one whenever what an older Throughline wrote would not fit any more.

What is stored is upgraded by `throughline upgrade`; `docs/control.md` says how.
"""

NAMING = "v1"
"""How processes are named. It stands in every process's qualified name, so that each tells who named it."""

LAYOUT = 1
"""What lies where in storage, and how it is written there: `shared/places.py` and the records."""
