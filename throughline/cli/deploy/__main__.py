"""The command line: `python -m throughline.cli.deploy GROUP`, or without a group as a hook of azd."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the running Python is the user's, and all below needs this
    sys.exit("Python 3.11 or newer is needed to deploy: https://www.python.org/downloads/")

from throughline.cli.deploy.command import main

if __name__ == "__main__":
    sys.exit(main())
