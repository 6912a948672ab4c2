"""Files of rules: the line of every mistake, the nearest valid name, and one error for all of them."""

from datetime import timedelta
from enum import StrEnum

import pytest

from shared.errors import Misconfigured
from shared.rules_file import (
    SPAN,
    TEXT,
    TEXTS,
    Key,
    RulesReader,
    did_you_mean,
    list_of,
    matcher,
    nearest,
    number_to,
    one_of,
    read_source,
)


class Colour(StrEnum):
    """Valid values."""

    RED = "red"
    GREEN = "green"


KEYS = {
    "name": Key(kind=TEXT, meaning="its name", needed=True),
    "colour": Key(kind=one_of(Colour), meaning="its colour"),
    "size": Key(kind=number_to(10), meaning="its size"),
    "after": Key(kind=SPAN, meaning="when it is removed"),
    "labels": Key(kind=TEXTS, meaning="its labels"),
    "others": Key(kind=list_of(TEXT, "a list of texts"), meaning="its neighbours"),
}


def read(text: str, place: str) -> None:
    """Read the tables [[thing]], [one] and [by.NAME]."""
    reader = RulesReader(text, place)
    reader.only({"thing", "one", "by"})
    reader.twice(reader.entries(KEYS, "thing", limit=3), "name")
    reader.table(KEYS, "one")
    reader.named(KEYS, "by", limit=2)
    reader.finish()


def mistakes(text: str, place: str = "f.toml") -> list[str]:
    """The lines of the error about this file."""
    with pytest.raises(Misconfigured) as error_info:
        read(text, place)
    return [line.strip() for line in str(error_info.value).splitlines()]


def test_values_have_the_types_of_their_keys() -> None:
    text = '[[thing]]\nname = "a"\ncolour = "red"\nsize = 3\nafter = "7d"\nlabels = "x"\nothers = []\n'
    reader = RulesReader(text, "f.toml")
    (entry,) = reader.entries(KEYS, "thing")
    reader.finish()
    assert (entry.at, entry.line) == (("thing", 0), 1)
    assert entry.values == {
        "name": "a",
        "colour": Colour.RED,
        "size": 3.0,
        "after": timedelta(days=7),
        "labels": ("x",),
        "others": (),
    }
    assert reader.table(KEYS, "one").values == {}
    assert reader.named(KEYS, "by") == {}


def test_one_error_names_every_mistake_with_its_line_and_the_nearest_name() -> None:
    text = """thin = 1
[[thing]]
name = "a"
colour = "gren"
size = 11
[[thing]]
name = "a"
nam = 1
"labels" = []
[by."a.b"]
after = "soon"  # and no name
others = ["x", 1]
[one]
name = true
shape = "round"
"""
    first, *messages = mistakes(text)
    assert first == "The rules file f.toml has 11 mistakes, and nothing in it is used:"
    assert messages == [
        "f.toml:1: there is no table thin. Did you mean thing?",
        'f.toml:4: colour must be "red" or "green". Did you mean green?',
        "f.toml:5: size must be a number from 0 to 10",
        "f.toml:6: thing a is there twice: the first is in line 2",
        "f.toml:8: thing has no key nam. Did you mean name?",
        "f.toml:9: labels must be a text or a list of texts",
        "f.toml:10: by.a.b needs name: its name",
        "f.toml:11: after must be a length of time such as 90m, 24h or 7d",
        "f.toml:12: others must be a list of texts",
        "f.toml:14: name must be a text",
        "f.toml:15: one has no key shape. Use after, colour, labels, name, others, size",
    ]


def test_mistakes_in_json_are_located_by_keys_instead_of_lines() -> None:
    _, *messages = mistakes('{"thing": [{"name": "a"}, {"name": "a", "size": true}], "by": {"b": 1}}', "f.json")
    assert messages == [
        "f.json: by.b: by.b must be a table: write [by.b] above its keys",
        "f.json: thing.1: thing a is there twice: the first is thing.0",
        "f.json: thing.1.size: size must be a number from 0 to 10",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = ", "f.toml:1: this is not valid TOML"),
        ("\n\n[[thing]", "f.toml:3: this is not valid TOML"),
        ("[one]\n" * 2, "f.toml:2: this is not valid TOML"),
        ('{"a": }', "f.toml:1: this is not valid JSON"),
        ("thing = 1", "f.toml:1: thing must be a list of tables: write [[thing]] above each"),
        ("[[thing]]\n" * 4, "f.toml:1: there are 4 tables thing, and at most 3 are read"),
        ("[[one]]", "f.toml:1: one must be a table: write [one] above its keys"),
        ("thing = false", "f.toml:1: thing must be a list of tables"),
        ("by = []", "f.toml:1: by must be tables, at most 2"),
        ("by = 1", "f.toml:1: by must be tables, at most 2: write [by.NAME] above each"),
        ("[by.a]\n[by.b]\n[by.c]", "f.toml:1: by must be tables, at most 2"),
        ("one.name = 1", "f.toml:1: name must be a text"),
    ],
)
def test_values_of_a_wrong_shape_are_reported_as_mistakes(text: str, message: str) -> None:
    assert any(message in line for line in mistakes(text))


def test_a_file_that_is_no_object_is_refused() -> None:
    with pytest.raises(Misconfigured, match=r"f\.json must be an object"):
        read_source("[]", "f.json")


def test_the_nearest_name_keeps_its_case() -> None:
    assert nearest(["*/custmer*"], ["Customer", "orders"]) == "Customer"
    assert did_you_mean(["zzz", "order"], ["Customer", "orders"]) == " Did you mean orders?"
    assert did_you_mean(["zzz"], ["Customer", "orders"]) == ""


def test_patterns_have_two_wildcards() -> None:
    assert matcher(["x", "*sales*"])("abfss://lake/SALES/x")
    assert matcher(["[dbo].[t?]"])("[dbo].[t1]")
    assert not matcher(["sales"])("sales2")
    assert matcher([])("anything")
