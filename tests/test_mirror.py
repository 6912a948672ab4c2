"""Which test fails if a line goes: the one of its module's name, or those in the module's row of its room's README.

`shared/room/module.py` has `tests/shared/room/test_module.py`; a command has `tests/cli/test_NAME.py`.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOPS = {
    "throughline/cli": "tests/cli",
    "throughline/lake": "tests/lake",
    "throughline/local": "tests/local",
    "throughline": "tests/throughline",
    "shared": "tests/shared",
}
"""Folders and those of their tests: the first three are rooms, the others are folders of rooms."""
COMMANDS = ("throughline.cli", '"-m", "throughline"')
"""How a test runs commands, in its process or in another: they reach all rooms."""
ROW = re.compile(r"^\| `([^`]+)` \| (`.+`) \|$", re.MULTILINE)


def complaints(modules: Mapping[str, str], tests: Mapping[str, str], pages: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each module without a test, and for each wrong row; all arguments are texts by path."""
    names = Counter((_room(module), _name(module)) for module in modules)
    held = {module for module in modules if tests.keys() & set(_own_tests(module, names))}
    for page, text in pages.items():
        folder = page.removesuffix("README.md")
        for pattern, row_tests in ROW.findall(text):
            members = {module for module in modules if _is(module, folder + pattern)}
            held |= members
            if not members:
                yield f"{page}: there is no {pattern}: take its row out"
            for test in re.findall(r"`([^`]+)`", row_tests):
                if test not in tests:
                    yield f"{page}: there is no {test}"
                elif not all(_reaches(test, _room(module), tests) for module in members):
                    yield f"{page}: {test} imports nothing of the room of {pattern}"
    for module in sorted(modules.keys() - held):
        yield f"{module}: no {_mirror(module)}, and no row in {_room(module)}/README.md says which test holds it"


def _is(module: str, pattern: str) -> bool:
    return fnmatchcase(module, pattern) and module.count("/") == pattern.count("/")


def _room(module: str) -> str:
    """`shared/naming` of all in that folder, `throughline/cli` also of its folders, `shared` of `shared/model.py`."""
    top = _top(module)
    inner, _, rest = module.removeprefix(f"{top}/").partition("/")
    return f"{top}/{inner}" if rest and "/" not in top else top


def _name(module: str) -> str:
    return module.rpartition("/")[2]


def _top(module: str) -> str:
    return next(top for top in TOPS if module.startswith(f"{top}/"))


def _mirror(module: str) -> str:
    top = _top(module)
    folder, _, name = module.removeprefix(top).rpartition("/")
    return f"{TOPS[top]}{folder}/test_{name}"


def _own_tests(module: str, names: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yield where a test of this module's name may stand: in a folder above only if the room has the name once."""
    test = Path(_mirror(module))
    yield test.as_posix()
    if names[_room(module), _name(module)] == 1:
        room = Path(_mirror(f"{_room(module)}/{_name(module)}")).parent
        yield from ((folder / test.name).as_posix() for folder in test.parents if folder.is_relative_to(room))


def _reaches(test: str, room: str, tests: Mapping[str, str]) -> bool:
    """Whether a test, or a module of tests/ that it imports, names the room's package or runs commands."""
    packages = (room.replace("/", "."), *COMMANDS)
    waiting, seen = [test], set[str]()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        if any(package in tests[path] for package in packages):
            return True
        imported = {f"{name.replace('.', '/')}.py" for name in re.findall(r"\b(tests(?:\.\w+)+)\b", tests[path])}
        waiting += (imported & tests.keys()) - seen
    return False


def _texts(pattern: str) -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(ROOT.glob(pattern))}


def test_each_module_has_a_test_that_one_can_find() -> None:
    sources = {**_texts("shared/**/*.py"), **_texts("throughline/**/*.py")}
    modules = {path: source for path, source in sources.items() if len(ast.parse(source).body) > 1}
    pages = {**_texts("shared/**/README.md"), **_texts("throughline/**/README.md")}
    assert list(complaints(modules, _texts("tests/**/*.py"), pages)) == []


def test_recorded_durations_are_of_tests_that_exist() -> None:
    files = json.loads((ROOT / "tests/durations.json").read_text())
    assert [file for file in files if not (ROOT / "tests" / file).is_file()] == []


MODULES = dict.fromkeys(["shared/a/x.py", "shared/a/deep/y.py", "throughline/cli/commands/show.py", "shared/z.py"], "")
TESTS = {
    "tests/shared/a/test_x.py": "",
    "tests/shared/a/test_all.py": "from tests.support.world import World",
    "tests/support/world.py": "from shared.a.deep.y import Y",
    "tests/cli/test_show.py": "",
    "tests/shared/test_z.py": "",
}
PAGES = {"shared/a/README.md": "| module | held by |\n|---|---|\n| `deep/*.py` | `tests/shared/a/test_all.py` |\n"}


@pytest.mark.parametrize(
    ("modules", "tests", "pages", "sentence"),
    [
        ({}, {}, {"shared/a/README.md": ""}, "shared/a/deep/y.py: no tests/shared/a/deep/test_y.py"),
        ({"shared/b.py": ""}, {}, {}, "shared/b.py: no tests/shared/test_b.py, and no row in shared/README.md"),
        ({"throughline/cli/ui/show.py": ""}, {}, {}, "throughline/cli/commands/show.py: no tests/cli/commands"),
        ({}, {"tests/support/world.py": ""}, {}, "tests/shared/a/test_all.py imports nothing of the room"),
        ({}, {}, {"shared/README.md": "| `b.py` | `tests/test_b.py` |"}, "shared/README.md: there is no b.py"),
        ({}, {}, {"shared/README.md": "| `z.py` | `tests/b.py` |"}, "shared/README.md: there is no tests/b.py"),
    ],
)
def test_a_planted_mistake_is_found(
    modules: dict[str, str], tests: dict[str, str], pages: dict[str, str], sentence: str
) -> None:
    sentences = list(complaints({**MODULES, **modules}, {**TESTS, **tests}, {**PAGES, **pages}))
    assert [text for text in sentences if sentence in text], sentences


def test_names_and_rows_are_enough() -> None:
    assert list(complaints(MODULES, TESTS, PAGES)) == []
