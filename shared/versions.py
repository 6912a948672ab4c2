"""The versions of what Throughline writes. Raise one when stored data of an older version can no longer be read.

The worker does not start on data of another version (docs/operate/upgrading.md). Which package of the functions runs is
told by a digest of its files instead, which the receiver names in each answer of its own.
"""

NAMING = "v1"
"""How processes are named. Every process's qualified name contains it."""

LAYOUT = 3
"""What lies where in storage, and how it is written there: `shared/storage_layout.py` and the records."""

PACKAGE_HEADER = "X-Throughline-Package"
PACKAGE_FILE = "package.sha256"
"""At the root of a package: the SHA-256 of its other files' names and contents, in 64 hexadecimal digits."""

ORIGIN_HEADER = "Throughline-Origin"
"""The header of a forwarded event that names the installation: its own receiver refuses it."""
