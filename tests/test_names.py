"""Names say what a value is: the share of names that do not, by room."""

import pytest

from tests.names import ROOT, Tally, bindings, main, repository, room_of, says_nothing, tallies, violations

SOURCE = "\n".join([*(f"noun_{number} = {number}" for number in range(18)), "each = 1", "found = 2"])


def test_each_room_keeps_to_the_limit() -> None:
    rooms = repository()
    assert rooms["shared/atlas"].names > 100
    assert violations(rooms) == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("row = 1", ["row"]),
        ("row.each = 1", []),
        ("rows[each] = 1", []),
        ("first, (second, *rest) = rows", ["first", "rest", "second"]),
        ("def read(row, /, key, *rows, at=1, **found): ...", ["at", "found", "key", "row", "rows"]),
        ("lambda row: row", ["row"]),
        ("for each in rows: print(each)", ["each"]),
        ("[row for row in rows if (key := row)]", ["key", "row"]),
        ("with opened as file: ...", ["file"]),
        ("try: ...\nexcept OSError as error: ...", ["error"]),
        ("import json as wire, csv", ["wire"]),
        ("class Row:\n    key: int\n    known: int = 0", ["key", "known"]),
        (
            "match row:\n    case {'a': key, **rest} | [key, *rest] as whole: ...\n    case _: ...",
            ["key", "key", "rest", "rest", "whole"],
        ),
    ],
)
def test_each_binding_is_counted_and_nothing_else(source: str, names: list[str]) -> None:
    assert sorted(binding.name for binding in bindings(source, "room/module.py")) == names


@pytest.mark.parametrize(("path", "line"), [("room/module.py", 19), ("room/folder/module.py", 19)])
def test_a_binding_has_its_place(path: str, line: int) -> None:
    (tally,) = tallies({path: SOURCE}).values()
    assert [str(binding) for binding in tally.empty] == [f"{path}:{line}: each", f"{path}:{line + 1}: found"]
    assert (tally.names, tally.share) == (20, 10)


@pytest.mark.parametrize("name", ["each", "found", "before", "at", "own", "_known", "wanted_", "HERE"])
def test_a_pronoun_a_participle_or_an_adverb_says_nothing(name: str) -> None:
    assert says_nothing(name)


@pytest.mark.parametrize("name", ["process", "queue_entry", "found_rows", "before_write", "__all__", "_", "other"])
def test_a_noun_says_what_a_value_is(name: str) -> None:
    assert not says_nothing(name)


@pytest.mark.parametrize(
    ("path", "room"),
    [
        ("shared/model.py", "shared"),
        ("shared/atlas/entities.py", "shared/atlas"),
        ("shared/naming/stores/files.py", "shared/naming"),
        ("parser_function/__init__.py", "parser_function"),
        ("tests/test_names.py", "tests"),
        ("tests/cli/test_view.py", "tests/cli"),
        ("tests/shared/atlas/test_entities.py", "tests/shared/atlas"),
    ],
)
def test_a_room_is_a_folder_of_the_map(path: str, room: str) -> None:
    assert room_of(path) == room


@pytest.mark.parametrize(
    ("number", "sentences"),
    [
        (40, []),
        (20, ["room: 5.0 % of its names say nothing, 3 % is too many: room/m.py:1: each"]),
    ],
)
def test_a_share_at_the_limit_or_above_is_told_with_its_places(number: int, sentences: list[str]) -> None:
    rooms = {"room": Tally(names=number, empty=tuple(bindings("each = 1", "room/m.py")))}
    assert violations(rooms) == sentences


def test_the_command_prints_the_table_and_the_most_frequent_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--most", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("shared/atlas" in line for line in lines)
    assert "bound names say nothing of their value" in lines[-3]


def test_the_command_prints_the_places_in_a_room(capsys: pytest.CaptureFixture[str]) -> None:
    room = next(room for room, tally in repository().items() if tally.empty)
    assert main([room]) == 0
    path, line, name = capsys.readouterr().out.splitlines()[0].split(":")
    assert name.strip() in (ROOT / path).read_text().splitlines()[int(line) - 1]


def test_an_unknown_room_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["shared/atlass"])
    assert "no room shared/atlass: there are " in capsys.readouterr().err
