"""`python -m throughline.local.event_grid`: notify a functions host of new blobs until Ctrl-C."""

import argparse
import os
import signal
import sys
from pathlib import Path

from throughline.local.event_grid import EventGrid, subscriptions
from throughline.local.host.settings import AppError, load_local_settings
from throughline.project import ROOT


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m throughline.local.event_grid", description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:7071", help="the functions host")
    parser.add_argument("--root", type=Path, default=ROOT, help="the app: the folder of host.json")
    parser.add_argument("--delay", type=float, default=3.0, help="seconds after which a new blob is reported")
    options = parser.parse_args()
    # Blocked before any thread starts, so that sigwait below receives them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        load_local_settings(options.root)
        subscribed = subscriptions(options.root, os.environ)
    except AppError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    connection = os.environ.get("AzureWebJobsStorage", "UseDevelopmentStorage=true")  # noqa: SIM112 -- Azure's own spelling
    event_grid = EventGrid(connection=connection, url=options.url, subscriptions=subscribed, delay=options.delay)
    event_grid.start()
    for subscription in subscribed:
        sys.stdout.write(
            f"notifying {subscription.function} at {options.url} of new blobs in {subscription.pattern.container}\n"
        )
    sys.stdout.flush()
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    event_grid.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
