"""Run a command as on a machine without Java and Node: `python -m tests.bare COMMAND …`.

Each folder of the PATH with one of these programs is replaced by a folder in `build/bare` with links to all its other
programs. JAVA_HOME is not set. So the command uses the Java and Node that `make setup` installs from PyPI.
"""

import contextlib
import hashlib
import os
import shutil
import sys
from pathlib import Path

from throughline.project import BUILD

_MISSING = frozenset({"java", "javac", "jar", "node", "nodejs", "npm", "npx", "corepack"})


def bare_environment() -> dict[str, str]:
    """Return this process's environment with such a PATH and without JAVA_HOME."""
    places = [Path(place) for place in os.get_exec_path() if Path(place).is_dir()]
    variables = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return {**variables, "PATH": os.pathsep.join(str(_without_missing(place)) for place in places)}


def _without_missing(place: Path) -> Path:
    programs = {path.name: path for path in place.iterdir()}
    if not _MISSING & programs.keys():
        return place
    links = BUILD / "bare" / hashlib.sha256(os.fsencode(place)).hexdigest()[:12]
    links.mkdir(parents=True, exist_ok=True)
    for name in programs.keys() - _MISSING:
        with contextlib.suppress(FileExistsError):
            (links / name).symlink_to(programs[name])
    return links


if __name__ == "__main__":
    environment = bare_environment()
    program = shutil.which(sys.argv[1], path=environment["PATH"])
    if program is None:
        sys.exit(f"{sys.argv[1]} is not on the PATH: name another program")
    os.execve(program, sys.argv[1:], environment)  # noqa: S606 - the command that was asked for
