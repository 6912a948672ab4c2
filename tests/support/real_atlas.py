"""A real Apache Atlas with Throughline's types; `python -m tests.support.real_atlas` runs one until Ctrl-C."""

import argparse
import contextlib
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import requests
from rich.console import Console

from throughline.local.atlas import PASSWORD, USER, USUAL_PORT, AtlasServer
from throughline.local.atlas.model import grouped
from throughline.local.catalog.types import builtin_typedefs
from throughline.local.errors import LocalError
from throughline.project import BUILD

_CALL_SECONDS = 60


def lacking(names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the types of the local catalog that are not among these, as the body of one call that creates them."""
    existing_names = frozenset(names)
    return grouped(typedef for typedef in builtin_typedefs() if typedef["name"] not in existing_names)


def add_types(atlas: AtlasServer) -> int:
    """Create the local catalog's built-in types that this Atlas lacks; return their number. Raises LocalError."""
    held = _call(atlas, "GET", "types/typedefs")
    missing = lacking(typedef["name"] for typedefs in held.values() for typedef in typedefs)
    count = sum(map(len, missing.values()))
    if count:
        _call(atlas, "POST", "types/typedefs", missing)
    return count


def _call(atlas: AtlasServer, method: str, path: str, body: Any = None) -> Any:
    url, credentials = f"{atlas.endpoint}/{path}", (USER, PASSWORD)
    answer = requests.request(method, url, auth=credentials, json=body, timeout=_CALL_SECONDS)
    if not answer.ok:
        raise LocalError(f"Atlas answered {answer.status_code} to {method} {path}: {answer.text[:1000]}")
    return answer.json()


def main() -> int:
    """Run an Atlas without entities until Ctrl-C, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.real_atlas", description=main.__doc__)
    parser.add_argument("--port", type=int, default=USUAL_PORT, help="port on 127.0.0.1; 0 takes a free one (21000)")
    parser.add_argument("--home", type=Path, default=BUILD / "atlas-data", help="folder of data and log, emptied first")
    parser.add_argument(
        "--deletes",
        choices=["soft", "hard"],
        default="soft",
        help="soft: mark deleted entities and keep them, Atlas' default; hard: remove them",
    )
    parser.add_argument("--bare", action="store_true", help="do not create the types that Throughline writes")
    options = parser.parse_args()
    console = Console(stderr=True, highlight=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        with contextlib.ExitStack() as running:
            with console.status("starting") as status:
                atlas = running.enter_context(
                    AtlasServer(port=options.port, home=options.home, deletes=options.deletes, progress=status.update)
                )
            types = 0 if options.bare else add_types(atlas)
            sys.stdout.write(
                f"Apache Atlas on {atlas.url} (user {USER}, password {PASSWORD}), {options.deletes} deletes, empty"
                f"{f' except for {types} types of ours' if types else ''}\n"
                f"interface {atlas.endpoint}\nlog       {atlas.log}\nCtrl-C ends it.\n"
            )
            sys.stdout.flush()
            code = atlas.wait()
        sys.exit(f"Atlas ended by itself (exit code {code}); see {atlas.log}")
    except KeyboardInterrupt:
        return 0
    except LocalError as error:
        sys.exit(str(error))


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
