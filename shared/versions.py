"""The versions of what Throughline writes. Raise one when stored data of an older version can no longer be read.

The worker does not start on data of another version (docs/operate/upgrading.md).
"""

NAMING = "v1"
"""How processes are named. Every process's qualified name contains it."""

LAYOUT = 2
"""What lies where in storage, and how it is written there: `shared/storage_layout.py` and the records."""
