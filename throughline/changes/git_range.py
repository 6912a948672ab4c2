"""The SQL files that a range of git changes, before and after, by the program `git`."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from shared.errors import Misconfigured

PROJECT_FILE = "dbt_project.yml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file by its path from the repository's root. `old`, `new`: its text; None where there was or is none.
    `in_project`: its path from the root of the dbt project that it is in; empty outside of any.
    """

    path: str
    old: str | None
    new: str | None
    in_project: str = ""


def changed_files(folder: Path, commits: str) -> tuple[ChangedFile, ...]:
    """The SQL files changed in `A..B`, in `A...B` (since both were one), or in `A...HEAD` for `A`.

    Raises Misconfigured where the folder is in no repository, or the range names no commits.
    """
    git = partial(_output_of_git, folder)
    if git("rev-parse", "--git-dir") is None:
        raise Misconfigured(
            f"{folder.resolve()} is in no git repository: run this in one, or name its folder by --repo"
        )
    base, head = _ends(git, commits)
    trees = [
        set((git("ls-tree", "-r", "--full-tree", "--name-only", "-z", end) or "").split("\0")) for end in (base, head)
    ]
    names = git("diff", "--name-only", "--no-renames", "-z", base, head, "--", ":(top,icase,glob)**/*.sql") or ""
    projects = [PurePosixPath(path).parent for path in trees[0] | trees[1] if PurePosixPath(path).name == PROJECT_FILE]
    return tuple(
        ChangedFile(
            path=path,
            old=git("cat-file", "blob", f"{base}:{path}"),
            new=git("cat-file", "blob", f"{head}:{path}"),
            in_project=_in_project(path, projects),
        )
        for path in filter(None, names.split("\0"))
    )


def _output_of_git(folder: Path, *words: str) -> str | None:
    """What git prints; None where it fails. Raises Misconfigured where there is no git."""
    program = shutil.which("git")
    if program is None:
        raise Misconfigured("the program git was not found: install it, or put it on the PATH")
    command = [program, "-C", str(folder), *words]
    process = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - no shell reads it
    return None if process.returncode else process.stdout.decode(errors="replace")


def _ends(git: Callable[..., str | None], commits: str) -> tuple[str, str]:
    """The commits before and after. `rev-parse` prints the later one first, and `^` before the one that is left out."""
    if not commits.startswith("-"):
        full_range = commits if ".." in commits else f"{commits}...HEAD"
        revisions = (git("rev-parse", "--revs-only", full_range, "--") or "").split()
        excluded = [revision[1:] for revision in revisions if revision.startswith("^")]
        if excluded:
            return excluded[-1], revisions[0]
    raise Misconfigured(
        f"{commits!r} names no range of commits that this repository has: give one such as main...HEAD. In a pipeline"
        " fetch the full_range history (`fetch-depth: 0`)"
    )


def _in_project(path: str, projects: list[PurePosixPath]) -> str:
    """The path from the innermost project."""
    enclosing = [project for project in projects if PurePosixPath(path).is_relative_to(project)]
    if not enclosing:
        return ""
    return str(PurePosixPath(path).relative_to(max(enclosing, key=lambda project: len(project.parts))))
