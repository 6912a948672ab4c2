"""`python -m throughline.local.atlas [run|install]`: install Apache Atlas, or run an empty one until Ctrl-C."""

import argparse
import contextlib
import signal
import sys
from pathlib import Path

from rich.console import Console

from throughline.local.atlas import PASSWORD, USER, USUAL_PORT, AtlasServer, install
from throughline.local.errors import LocalError
from throughline.project import BUILD


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m throughline.local.atlas", description=__doc__)
    parser.add_argument("action", nargs="?", choices=["run", "install"], default="run")
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
        if options.action == "install":
            sys.stdout.write(f"{install().folder}\n")
            return 0
        with contextlib.ExitStack() as running:
            with console.status("starting") as status:
                atlas = running.enter_context(
                    AtlasServer(port=options.port, home=options.home, deletes=options.deletes, progress=status.update)
                )
            types = 0 if options.bare else atlas.add_types()
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
