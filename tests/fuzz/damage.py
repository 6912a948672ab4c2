"""Ways to damage events, in their structure or in their bytes. The same random state gives the same damage."""

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzz.corpus import Corpus

Place = tuple[Any, Any]
"""A list or an object, and the index or key of a value in it."""

_DEEP: Any = "x"
for _ in range(200):
    _DEEP = [_DEEP]

JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**20, 10**400, float("nan"), float("-inf"), 1e308),
    *(
        "",
        "x",
        "\0",
        "\x1f",
        "\ud800",
        "\ude00x",
        "\ud7ff",
        "\U0001f600",
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
        "x" * 5000,
        "x" * 9000,
    ),
    *([], {}, [None], [[]], [{}], {"": ""}, {"a": None}, {"namespace": "file", "name": "/x"}, _DEEP),
    *("2026-11-21T10:00:00Z", "1969-12-31T23:59:59Z", "COMPLETE", "FAIL", "SPARK", "DIRECT", "INDIRECT", "DROP"),
    *("3f2504e0-4f89-41d3-9a0c-0305e82c3301", "3F2504E0-4F89-41D3-9A0C-0305E82C3301"),
    *({"fields": {"x": {"inputFields": [{"namespace": "", "name": "", "field": ""}]}}}, {"identifiers": [{}]}),
    *(
        {"identifiers": [{"namespace": "n", "name": "t"}] * 1001},
        [0] * 10_001,
        {str(number): 0 for number in range(1001)},
    ),
    "INSERT INTO t SELECT 'Ann', 7 FROM s WHERE a = \"Bo",
)
"""JSON values to put where they do not belong."""

AFFIXES = (
    *(
        "/",
        "//",
        "/../",
        ".",
        "..",
        "%",
        "%2F",
        "\0",
        "\n",
        "\ud800",
        "\u202e",
        "\U0001f600",
        " ",
        "=",
        "k=v/",
        "#",
        "?",
    ),
    *(
        "/part-00000-x.c000",
        "/_delta_log/",
        "/_temporary/0",
        "://",
        "abfss://c@a.dfs.core.windows.net",
        "file:///",
        "@",
    ),
    *(":", ":1433;database=d", "[", "]", "{a}", "{}", "{0}", "~", "*", "\\", "'", '"', "`", "x" * 3000, "/a" * 500),
    *(".execute_merge_into_command.t", ".project", "_execute_insert_into_hive_table", "1650268838", "2026-11-21"),
    *(
        "hive://h:9083",
        "sqlserver://h",
        "kafka://k:9092",
        "jdbc:postgresql://h/d",
        "s3a://b",
        "abfss://c:password=x@a.dfs.core.windows.net?sig=y&a=b",
        ";password={a};token=b",
        "dbfs:/mnt/x",
        "wasbs://c@",
    ),
)
"""Texts to put before, behind or into others."""


def in_structure(chance: random.Random, corpus: Corpus) -> list[bytes]:
    """Return some events of a run with one to four wrong parts."""
    events: list[Any] = [json.loads(raw) for raw in _some(chance, corpus)]
    for _ in range(chance.randint(1, 4)):
        place = _place(chance, chance.choice(events))
        if place:
            chance.choice(_WAYS)(chance, corpus, place)
    return [
        json.dumps(event, ensure_ascii=chance.random() < _MOSTLY).encode(errors="surrogatepass") for event in events
    ]


_MOSTLY = 0.9


def _some(chance: random.Random, corpus: Corpus) -> Sequence[bytes]:
    events = chance.choice(corpus.runs)
    return chance.sample(events, k=chance.randint(1, min(3, len(events))))


def _place(chance: random.Random, event: Any) -> Place | None:
    """Return a random place in the event, at any depth."""
    holder, place = event, None
    while holder and isinstance(holder, dict | list):
        key = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
        place = (holder, key)
        if chance.random() > _MOSTLY:
            break
        holder = holder[key]
    return place


def _replace(chance: random.Random, _: Corpus, place: Place) -> None:
    holder, key = place
    holder[key] = copy.deepcopy(chance.choice(JUNK))


def _drop(_: random.Random, __: Corpus, place: Place) -> None:
    holder, key = place
    del holder[key]


def _repeat(chance: random.Random, _: Corpus, place: Place) -> None:
    """Repeat the value beside itself, or where it does not belong."""
    holder, key = place
    if isinstance(holder, list):
        holder.insert(chance.randint(0, len(holder)), holder[key])
    else:
        holder[chance.choice(list(holder))] = holder[key]


def _rename(chance: random.Random, corpus: Corpus, place: Place) -> None:
    holder, key = place
    if isinstance(holder, dict):
        holder[chance.choice(corpus.keys)] = holder.pop(key)


def _transplant(chance: random.Random, corpus: Corpus, place: Place) -> None:
    """A part of another event."""
    source_place = _place(chance, json.loads(chance.choice(chance.choice(corpus.runs))))
    if source_place:
        place[0][place[1]] = source_place[0][source_place[1]]


def _twist(chance: random.Random, _: Corpus, place: Place) -> None:
    """Replace the text by a similar one."""
    holder, key = place
    text = holder[key]
    if isinstance(text, str):
        position = chance.choice((0, len(text), chance.randint(0, len(text))))
        holder[key] = chance.choice((
            text[:position] + chance.choice(AFFIXES) + text[position:],
            text[:position],
            text.swapcase(),
            text[::-1],
        ))  # fmt: skip


_WAYS: tuple[Callable[[random.Random, Corpus, Place], None], ...] = (
    *(_replace, _drop, _repeat, _rename, _transplant),
    *(_twist, _twist, _twist),
)


def in_bytes(chance: random.Random, corpus: Corpus) -> list[bytes]:
    """Return some events of a run with bytes replaced, lost, inserted or repeated; sometimes only noise."""
    if chance.random() > _NEARLY_ALWAYS:
        return [chance.randbytes(chance.randint(0, 200))]
    return [_broken(chance, raw) for raw in _some(chance, corpus)]


_NEARLY_ALWAYS = 0.95
_SPICE = (
    b"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"',
    b"\\",
    b"\\u",
    b"\\ud83d",
    b"\xff",
    b"\xed\xa0\x80",
    b"\0",
    b"NaN",
)
_SPICES = (*_SPICE, b"-Infinity", b"\xef\xbb\xbf", b"null", b"1e999", b"0", b'"a":', b"[" * 2000, b"9" * 5000)


def _broken(chance: random.Random, raw: bytes) -> bytes:
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(raw))
        end = min(len(raw), start + chance.choice((0, 0, 1, 2, 8, 100)))
        middle = chance.choice((chance.choice(_SPICES), chance.randbytes(chance.randint(0, 4)), raw[start:end] * 2))
        raw = raw[:start] + middle + raw[end:]
    return raw
