"""The folders of the project's files, such as `infra`, `examples` and the functions.

In a checkout they lie beside this package, in an installed wheel inside it (`throughline/wheel.py`). Standard library
only: `throughline.cli.deploy` runs where nothing is installed.
"""

from pathlib import Path

_PACKAGE = Path(__file__).parent
INSTALLED = (_PACKAGE / "host.json").is_file()
ROOT = _PACKAGE if INSTALLED else _PACKAGE.parent
BUILD = Path.home() / ".cache" / "throughline" if INSTALLED else ROOT / "build"
"""The folder of all installed and built files; it may be deleted at any time."""
