"""Documents of lineage of several days: one as its difference from another, and one of two with the changes, which the
page marks.

Most of a document is the same as in an earlier one. Data sets, columns, processes and times are numbered by their
place, so that one new data set renumbers nearly all of it. The difference therefore says of each part of the document
which runs of the base it repeats, with their numbers as they are now, and what is new. As JSON:

    {"base": "2026-11-01", "digest": …, "values": {"format": 2, "source": …, "history": …},
     "parts": {"datasets": [[0, 120], {"new": [{…}]}, [120, 41]], "processes": [{"of": 7, "set": {…}, "unset": []}]}}

`[start, count]` repeats items of the base; `of` is an item of the base with other values in some fields.
"""

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from typing import Any, get_type_hints

import msgspec
from msgspec import structs, to_builtins

from shared.lineage.document import NOT_SET, Edge, LineageDocument, UnreadableDocumentError, encoded

_GONE = -2
"""Instead of the number of an item of the base that the document has not."""
_PARTS: Mapping[str, Any] = MappingProxyType(
    {name: hint for name, hint in get_type_hints(LineageDocument).items() if getattr(hint, "__origin__", None) is tuple}
)
"""The fields that hold items, with their types, in an order in which none refers to a later one."""
_NUMBERS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "datasets": {"written": "times", "tested": "times"},
        "columns": {"dataset": "datasets"},
        "processes": {
            "inputs": "datasets",
            "outputs": "datasets",
            "parsed_inputs": "datasets",
            "first_seen": "times",
            "last_seen": "times",
        },
        "flows": {
            "process": "processes",
            "input": "datasets",
            "output": "datasets",
            "valid_from": "times",
            "valid_to": "times",
        },
        "edges": {
            "process": "processes",
            "input": "columns",
            "output": "columns",
            "valid_from": "times",
            "valid_to": "times",
        },
        "tags": {"column": "columns"},
        "failed_tests": {"dataset": "datasets"},
        "schema_changes": {"dataset": "datasets"},
    }
)
"""The fields of items that are numbers of items of another part."""
KEYS: Mapping[str, Callable[[Any], Hashable]] = MappingProxyType(
    {
        "times": lambda time: time,
        "datasets": lambda dataset: dataset.qualified_name,
        "columns": lambda column: (column.dataset, column.name),
        "processes": lambda process: process.qualified_name,
    }
)
"""What identifies the items of the parts that others refer to, whatever else changes of them."""


class _Difference(msgspec.Struct, frozen=True, kw_only=True):
    base: date
    digest: str
    values: dict[str, Any]
    parts: dict[str, list[Any]]


_DECODER = msgspec.json.Decoder(_Difference)
Numbering = dict[str, dict[int, int]]
"""By part: the numbers of another document by those of this one."""


def difference(base: LineageDocument, day: date, document: LineageDocument) -> bytes:
    """The document as JSON of its difference from the base, which is that of this day."""
    numbering: Numbering = {}
    parts: dict[str, list[Any]] = {}
    for part in _PARTS:
        former, items = moved(base, part, numbering), getattr(document, part)
        parts[part] = list(_script(former, items, KEYS.get(part)))
        _renumber(numbering, part, former, items)
    values = {name: getattr(document, name) for name in document.__struct_fields__ if name not in _PARTS}
    return msgspec.json.encode(_Difference(base=day, digest=_digest(document), values=values, parts=parts))


def restored(base: LineageDocument, data: bytes) -> LineageDocument:
    """The document of a difference from this base. Raises UnreadableDocumentError, where either is damaged."""
    try:
        day_difference = _DECODER.decode(data)
        numbering: Numbering = {}
        parts: dict[str, Any] = {}
        for part, hint in _PARTS.items():
            former = moved(base, part, numbering)
            parts[part] = msgspec.convert(tuple(_followed(former, day_difference.parts.get(part, ()), hint)), hint)
            _renumber(numbering, part, former, parts[part])
        document = LineageDocument(**day_difference.values, **parts)
        digest = _digest(document)
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
        raise UnreadableDocumentError(f"this is no difference between documents of lineage: {error}") from error
    if digest != day_difference.digest:
        raise UnreadableDocumentError(
            "the difference does not give its document: "
            f"it is damaged, or the document of {day_difference.base} behind it"
        )
    return document


def _digest(document: LineageDocument) -> str:
    return hashlib.sha256(encoded(document)).hexdigest()


def moved(base: LineageDocument, part: str, numbering: Numbering) -> list[Any]:
    """The items of a part of a document, with the numbers that `numbering` has for those of other parts."""
    fields = [(field, numbering[target_part]) for field, target_part in _NUMBERS.get(part, {}).items()]
    if not fields:
        return list(getattr(base, part))
    return [
        structs.replace(item, **{field: _number(getattr(item, field), numbers) for field, numbers in fields})
        for item in getattr(base, part)
    ]


def _number(value: Any, numbers: Mapping[int, int]) -> Any:
    if isinstance(value, tuple):
        return tuple(numbers.get(number, number) for number in value)
    return numbers.get(value, value)


def _renumber(numbering: Numbering, part: str, moved: Sequence[Any], items: Sequence[Any]) -> None:
    """Put in the numbers of a part: those of the document by those of the base."""
    key = KEYS.get(part)
    if key:
        places = {key(item): place for place, item in enumerate(items)}
        numbering[part] = {number: places.get(key(item), _GONE) for number, item in enumerate(moved)}


def _script(moved: Sequence[Any], items: Sequence[Any], key: Callable[[Any], Hashable] | None) -> Iterator[Any]:
    """The items as runs of those of the base, changed ones, and new ones."""
    places = {item: place for place, item in reversed(tuple(enumerate(moved)))}
    changed = {key(item): place for place, item in enumerate(moved)} if key else {}
    run: list[int] = []
    new: list[Any] = []
    for item in items:
        if run and run[0] + run[1] < len(moved) and moved[run[0] + run[1]] == item:
            run[1] += 1
            continue
        if run:
            yield run
            run = []
        place = places.get(item)
        origin = changed.get(key(item)) if key and place is None else None
        patch = None if origin is None else _patch(origin, moved[origin], item)
        if place is None and patch is None:
            new.append(item)
            continue
        if new:
            yield {"new": new}
            new = []
        if patch:
            yield patch
        else:
            run = [places[item], 1]
    yield from filter(None, (run, {"new": new} if new else None))


def _patch(place: int, former: Any, item: Any) -> dict[str, Any] | None:
    """The item as other values of some fields; None where its values have no names."""
    values, former_values = to_builtins(item), to_builtins(former)
    if not isinstance(values, dict):
        return None
    other = {name: value for name, value in values.items() if former_values.get(name) != value}
    return {"of": place, "set": other, "unset": [name for name in former_values if name not in values]}


def _followed(moved: Sequence[Any], script: Sequence[Any], hint: Any) -> Iterator[Any]:
    """The items that a script gives. Raises ValueError, LookupError, TypeError and msgspec's errors."""
    item_type = hint.__args__[0]
    for step in script:
        if isinstance(step, list):
            start, count = step
            if not 0 <= start <= start + count <= len(moved):
                raise ValueError(f"the base has {len(moved)} items, and no run of {count} from {start}")
            yield from moved[start : start + count]
        elif "new" in step:
            yield from msgspec.convert(step["new"], hint)
        else:
            values = {**to_builtins(moved[step["of"]]), **step["set"]}
            yield msgspec.convert({name: values[name] for name in values if name not in step["unset"]}, item_type)


_MOMENT = timedelta(milliseconds=1)
"""The page has times in milliseconds."""


def end_of(day: date) -> datetime:
    """The last moment of a day in UTC: a document of two days has the earlier one's lineage then."""
    return datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC) - _MOMENT


def of_two_days(earlier: LineageDocument, later_document: LineageDocument, day: date) -> LineageDocument:
    """The later document with history: flows and edges that only the earlier one has end with its day, those that only
    the later one has begin then. Data sets, columns and processes of both are in it.
    """
    since = end_of(day) + _MOMENT
    times = tuple(sorted({*earlier.times, *later_document.times, since}))
    places = {time: place for place, time in enumerate(times)}
    former, latter = (
        {"times": {number: places[time] for number, time in enumerate(document.times)}}
        for document in (earlier, later_document)
    )
    parts: dict[str, Any] = {"times": times}
    for part in ("datasets", "columns", "processes"):
        parts[part] = tuple(_united(part, earlier, later_document, former, latter))
    change = places[since]
    for part in ("flows", "edges"):
        earlier_links, now = (
            {_identity(link): link for link in moved(document, part, numbering) if link.valid_to == NOT_SET}
            for document, numbering in ((earlier, former), (later_document, latter))
        )
        began = (
            link if name in earlier_links else structs.replace(link, valid_from=change) for name, link in now.items()
        )
        ended_links = (
            structs.replace(link, valid_to=change) for name, link in earlier_links.items() if name not in now
        )
        parts[part] = tuple(sorted((*began, *ended_links)))
    return structs.replace(later_document, history=True, **parts)


def _united(
    part: str, earlier: LineageDocument, later_document: LineageDocument, former: Numbering, latter: Numbering
) -> Iterator[Any]:
    """The items of the later document, then those that only the earlier one has; puts in the numbers of both."""
    items, key = moved(later_document, part, latter), KEYS[part]
    places = {key(item): place for place, item in enumerate(items)}
    latter[part] = {place: place for place in range(len(items))}
    yield from items
    moved_before = moved(earlier, part, former)
    for item in moved_before:
        if key(item) not in places:
            places[key(item)] = len(places)
            yield item
    former[part] = {number: places[key(item)] for number, item in enumerate(moved_before)}


def _identity(link: Any) -> tuple[Any, ...]:
    """A flow by its process and ends; an edge also by its kind, whose change ends one and begins one."""
    ends = (link.process, link.input, link.output)
    return (*ends, link.kind, link.masked) if isinstance(link, Edge) else ends
