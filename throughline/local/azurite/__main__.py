"""`python -m throughline.local.azurite [install]`: install Azurite, or run one on the usual ports until Ctrl-C."""

import argparse
import signal
import sys
from pathlib import Path

from throughline.local.azurite import USUAL_PORTS, Azurite, install
from throughline.local.errors import LocalError


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m throughline.local.azurite", description=__doc__)
    parser.add_argument("action", nargs="?", choices=["run", "install"], default="run")
    parser.add_argument("--location", type=Path, help="keep everything in this folder (default: in memory)")
    parser.add_argument("--free-ports", action="store_true", help="take free ports instead of 10000 to 10002")
    options = parser.parse_args()
    try:
        if options.action == "install":
            sys.stdout.write(f"{install()}\n")
            return 0
        # Blocked before Azurite starts, so that sigwait below receives them and they interrupt nothing else.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        with Azurite(location=options.location, ports={} if options.free_ports else USUAL_PORTS) as azurite:
            sys.stdout.write(f"{azurite.connection_string}\n")
            sys.stdout.flush()
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
    except LocalError as error:
        sys.exit(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
