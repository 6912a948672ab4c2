"""Starts a catalog: `python -m throughline.local.catalog --port 21000 --data catalog.sqlite`.

It listens on this machine only. It finishes the current calls and ends on SIGTERM or SIGINT.
"""

import argparse
import signal
import socket
import sqlite3
import sys
from collections.abc import Sequence
from typing import NoReturn

import uvicorn

from throughline.local.catalog import LOCAL_TOKEN
from throughline.local.catalog.http.app import CatalogApp
from throughline.local.catalog.http.verbs import Catalog
from throughline.local.catalog.store import MEMORY, Store
from throughline.local.errors import LocalError
from throughline.local.process.listening import listen

HOST = "127.0.0.1"
_GRACE_SECONDS = 5


def main(arguments: Sequence[str] | None = None, app_type: type[CatalogApp] = CatalogApp) -> int:
    """Serve until a signal; return the exit code (2: could not start)."""
    options = _parser().parse_args(arguments)
    try:
        with _listen(options) as listener:
            _serve(options, listener, app_type)
    except LocalError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m throughline.local.catalog",
        description="An Atlas-v2-compatible catalog on this machine, for Throughline's local world.",
    )
    parser.add_argument("--port", type=int, default=21000, help="port on 127.0.0.1; 0 takes a free one (21000)")
    parser.add_argument("--fd", type=int, help="serve on this inherited listening socket instead of a port")
    parser.add_argument("--data", default=MEMORY, help="SQLite file, created if missing; or :memory: (the default)")
    parser.add_argument(
        "--token", default=LOCAL_TOKEN, help="the token that clients send as Authorization: Bearer TOKEN (local)"
    )
    parser.add_argument(
        "--deletes",
        choices=["soft", "hard"],
        default="soft",
        help="soft: mark deleted entities and keep them, Atlas' default; hard: remove them",
    )
    parser.add_argument(
        "--types",
        choices=["purview", "plain"],
        default="purview",
        help="the built-in types: purview's, or those of a plain Atlas (see `throughline types`)",
    )
    return parser


def _listen(options: argparse.Namespace) -> socket.socket:
    if options.fd is not None:
        return socket.socket(fileno=options.fd)
    return listen(options.port, "the catalog", "name another by --port")


def _serve(options: argparse.Namespace, listener: socket.socket, app_type: type[CatalogApp]) -> None:
    try:
        store = Store(options.data)
    except sqlite3.Error as error:
        advice = "Name another file by --data, in a folder you can write to; each catalog needs one of its own."
        raise LocalError(f"Can't use {options.data} as the catalog's data: {error}. {advice}") from error
    catalog = Catalog(store, soft=options.deletes == "soft", plain=options.types == "plain")
    config = uvicorn.Config(
        app_type(catalog, token=options.token).asgi(),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=75,
        server_header=False,
    )
    server = uvicorn.Server(config)
    # uvicorn ends gracefully and then raises the signal again: this is a success, not a crash.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    sys.stdout.write(f"Catalog on http://{HOST}:{listener.getsockname()[1]}/api/atlas/v2, data in {options.data}\n")
    sys.stdout.flush()
    server.run(sockets=[listener])


def _end(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
