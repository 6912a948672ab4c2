"""`python -m tests.names`: how many bound names say nothing of their value, by room.

A name is a noun that says what its value is: `process`, `queue_entry`. A pronoun, participle, adverb or preposition
(`each`, `found`, `before`, `at`) does not. Counted is each binding: assignment, parameter, target of a loop or of a
comprehension, `as`, pattern. Without ROOM: the share of each room, and the most frequent names. With ROOM: each place.
"""

import argparse
import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
LIMIT = 3
"""Percent: each room stays below it."""

PRONOUNS = """
    all another any anything both each everything it its itself mine more most none nothing one ones others ours own
    some something such that theirs them these they this those us we what whatever which whichever who whom whose yours
"""
PARTICIPLES = """
    absent asked begun caught chosen done doomed due ended found fresh given gone got held hidden kept known left lost
    made met opened packed present read ready said seen sent shown spoken started stopped taken told touched unread
    unwritten used vain wanted written
"""
ADVERBS_AND_PREPOSITIONS = """
    about above after again alone along always among anew apart around aside at away bare before below beside between by
    else ever here how into later left_over less never of only onto over past rest same so spare then there to under
    upon where whole why within without
"""
DEEPER = frozenset({"tests/shared", "throughline/cli", "throughline/lake", "throughline/local"})
"""Folders whose folders are rooms."""
WORDS = frozenset((PRONOUNS + PARTICIPLES + ADVERBS_AND_PREPOSITIONS).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A name, and the place that binds it."""

    path: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The number of bound names of a room, and those that say nothing."""

    names: int
    empty: tuple[Binding, ...]

    @property
    def share(self) -> float:
        """Percent of all names."""
        return 100 * len(self.empty) / self.names if self.names else 0.0


def bindings(source: str, path: str) -> Iterator[Binding]:
    """Yield each binding of a name in a module's source. Raises SyntaxError."""
    for node in ast.walk(ast.parse(source)):
        name: str | None = None
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                pass
            case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
                pass
            case ast.alias(asname=name) | ast.MatchMapping(rest=name):
                pass
        if name:
            yield Binding(path=path, line=getattr(node, "lineno", 0), name=name)


def says_nothing(name: str) -> bool:
    """Whether a name is a word of the lists, apart from case and outer underscores; Python's `__all__` is not."""
    return not name.startswith("__") and name.strip("_").lower() in WORDS


def room_of(path: str) -> str:
    """Return the room of a file: two folders (`shared/atlas`), and below the houses of `DEEPER` three."""
    folders = PurePosixPath(path).parent.parts
    return "/".join(folders[: 3 if "/".join(folders[:2]) in DEEPER else 2])


def tallies(sources: Mapping[str, str]) -> dict[str, Tally]:
    """Return the tally of each room from the sources by path."""
    by_room: dict[str, list[Binding]] = defaultdict(list)
    for path, source in sorted(sources.items()):
        by_room[room_of(path)] += bindings(source, path)
    return {
        room: Tally(names=len(names), empty=tuple(binding for binding in names if says_nothing(binding.name)))
        for room, names in sorted(by_room.items())
    }


def violations(rooms: Mapping[str, Tally]) -> list[str]:
    """Return a sentence for each room with too high a share."""
    return [
        f"{room}: {tally.share:.1f} % of its names say nothing, {LIMIT} % is too many: "
        + "; ".join(map(str, tally.empty[:5]))
        for room, tally in rooms.items()
        if tally.share >= LIMIT
    ]


def sources() -> dict[str, str]:
    """Return all Python files of the repository by path."""
    folders = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith((".", "build"))]
    paths = [path for folder in folders for path in folder.rglob("*.py") if "node_modules" not in path.parts]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@cache
def repository() -> Mapping[str, Tally]:
    """Return the tally of each room of the repository as it was at the first call."""
    return tallies(sources())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the places in the rooms that are named; return 0."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.names", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("room", nargs="*", help="list each place of these rooms (`shared/atlas`)")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="names to list (default 20)")
    options = parser.parse_args(arguments)
    rooms = repository()
    if unknown := set(options.room) - set(rooms):
        parser.error(f"no room {', '.join(sorted(unknown))}: there are {', '.join(rooms)}")
    console = Console(soft_wrap=True, highlight=False)
    if options.room:
        for binding in (binding for room in options.room for binding in rooms[room].empty):
            console.print(str(binding), markup=False)
        return 0
    table = Table("room", "share", "names", "most frequent")
    for room, tally in sorted(rooms.items(), key=lambda item: -item[1].share):
        table.add_row(room, f"{tally.share:.1f} %", str(tally.names), _most(tally.empty, 3))
    console.print(table)
    every = Tally(
        names=sum(tally.names for tally in rooms.values()),
        empty=tuple(binding for tally in rooms.values() for binding in tally.empty),
    )
    console.print(f"{len(every.empty)} of {every.names} bound names say nothing of their value: {every.share:.1f} %")
    for name, count in Counter(binding.name for binding in every.empty).most_common(options.most):
        files = Counter(binding.path for binding in every.empty if binding.name == name).most_common(3)
        console.print(f"{count:6} {name}: " + ", ".join(f"{path} ({times})" for path, times in files))
    return 0


def _most(empty: Sequence[Binding], number: int) -> str:
    counts = Counter(binding.name for binding in empty).most_common(number)
    return ", ".join(f"{name} {count}" for name, count in counts)


if __name__ == "__main__":
    sys.exit(main())
