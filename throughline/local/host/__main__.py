"""`python -m throughline.local.host`: run a function.json app, or `install` its runtime."""

import argparse
import asyncio
import logging
import os
import socket
import sys
from pathlib import Path

from throughline.local.errors import LocalError
from throughline.local.host import logs, runtime
from throughline.local.host.config import read_host_json
from throughline.local.host.settings import AppError, load_local_settings
from throughline.local.host.worker.client import WorkerLimits, WorkerProcess
from throughline.local.process.listening import listen


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m throughline.local.host", description=__doc__)
    parser.add_argument("action", nargs="?", choices=["run", "install"], default="run")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the app: the folder of host.json")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--port", type=int, default=7071, help="port on 127.0.0.1; 0 takes a free one")
    place.add_argument("--fd", type=int, help="serve this listening socket, inherited from the parent")
    parser.add_argument(
        "--visibility", type=int, default=30, help="seconds until another host takes a dead one's blobs"
    )
    parser.add_argument(
        "--patience", type=float, default=30.0, help="seconds that storage may be unavailable until the host ends"
    )
    parser.add_argument("--restart", type=float, default=10.0, help="seconds until the next worker after a timeout")
    parser.add_argument("--keys", type=Path, help="a file of keys that requests must have (default: none is needed)")
    parser.add_argument("--retry", type=int, default=1, help="seconds until a failed blob is tried again")
    parser.add_argument("--grace", type=float, default=10.0, help="seconds for running functions when asked to end")
    return parser.parse_args()


def _listen(options: argparse.Namespace) -> socket.socket:
    if options.fd is not None:
        return socket.socket(fileno=options.fd)
    return listen(options.port, "the functions host", "give --port")


async def _run(options: argparse.Namespace) -> bool:
    root = options.root.resolve()
    listening = _listen(options)
    load_local_settings(root)
    config = read_host_json(root)
    logs.set_up(config.logging.log_level.default)
    worker = WorkerProcess(WorkerLimits(timeout=config.timeout, pause=options.restart))
    # Imported only now, while the worker process starts.
    from throughline.local.host.message_queue import Pace  # noqa: PLC0415
    from throughline.local.host.serve import AppHost  # noqa: PLC0415

    pace = Pace(visibility=options.visibility, retry=options.retry, patience=options.patience)
    host = AppHost(root, config, worker, pace=pace, keys=options.keys, grace=options.grace)
    await host.load()
    sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    return await host.serve(listening)


def main() -> int:
    """Run the command line and return the exit status: 0, or 2 for an app that can't be run."""
    options = _arguments()
    try:
        if options.action == "install":
            sys.stdout.write(f"{runtime.install()}\n")
            return 0
        is_clean = asyncio.run(_run(options))
    except (AppError, LocalError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if not is_clean:
        logging.shutdown()
        os._exit(1)  # Python can't end a thread: a running one would keep the process for ever
    return 0


if __name__ == "__main__":
    sys.exit(main())
