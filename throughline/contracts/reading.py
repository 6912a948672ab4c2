"""Read contracts of the Open Data Contract Standard 3.0 to 3.2 (Bitol, LF AI & Data).

The standard's own package checks the shape: https://bitol-io.github.io/open-data-contract-standard/. Promises that
lineage can't judge (price, support, roles) are read and not used.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from shared.errors import Misconfigured
from shared.rules_file.reading import Place, RulesSource

_VERSION = re.compile(r"v3\.[012]\.\d+")
_UNITS: Mapping[str, timedelta] = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), timedelta(seconds=1)),
    **dict.fromkeys(("m", "min", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hr", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
    **dict.fromkeys(("w", "week", "weeks"), timedelta(weeks=1)),
    **dict.fromkeys(("y", "yr", "year", "years"), timedelta(days=365)),
}
_OF_FRESHNESS = frozenset({"latency", "freshness", "frequency"})
"""Properties of a service level that bound the age of the last write."""
_DATASET = "throughlineDataset"
"""The custom property that names the data set of a schema as the lineage has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRule:
    """A rule of quality. `metric`: of the standard's library, empty for others; `column`: empty for the whole."""

    name: str
    metric: str = ""
    column: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedColumn:
    """A column. `type`: the physical type, else the logical one."""

    name: str
    logical: str = ""
    physical: str = ""
    required: bool = False
    unique: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """The age that the last write may have; None where the file's unit or value is not known. `text`: as it says it."""

    age: timedelta | None
    text: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedTable:
    """A schema object. `names`: of its data set, the most certain first; `inputs`: from what it is made, if said."""

    name: str
    names: tuple[str, ...]
    columns: tuple[PromisedColumn, ...]
    freshness: tuple[Freshness, ...]
    quality: tuple[QualityRule, ...]
    inputs: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A contract; `place` is its path."""

    place: str
    name: str
    tables: tuple[PromisedTable, ...]


def parse_contract(text: str, place: str) -> Contract:
    """Read a contract in YAML or JSON. Raises Misconfigured with all mistakes, each with its line."""
    try:
        import pydantic  # noqa: PLC0415 - an extra: only contracts need it
        import yaml  # noqa: PLC0415 - the same
        from open_data_contract_standard.model import OpenDataContractStandard  # noqa: PLC0415 - the same
    except ImportError as error:
        raise Misconfigured(f"{place} is a data contract: install `throughline[contracts]` to check it") from error
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        for node in _scalars(tree):  # the standard's dates are texts; JSON writes some characters as two
            node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            if node.tag == "tag:yaml.org,2002:timestamp":
                node.tag = "tag:yaml.org,2002:str"
        values = yaml.SafeLoader("").construct_document(tree) if tree else None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it can't be read"
        raise Misconfigured(f"{place}:{mark.line + 1 if mark else 1}: this is not valid YAML: {problem}") from error
    if not isinstance(values, dict):
        raise Misconfigured(f"{place}:1: a contract is an object with `apiVersion`, `kind` and `schema`")
    source = RulesSource(place=place, tables=values, lines=dict(_lines(tree, ())))
    version, kind = values.get("apiVersion"), values.get("kind")
    if kind != "DataContract" or not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise Misconfigured(
            f"{place}:{source.line('apiVersion')}: this is kind {kind!r}, version {version!r}: kind 'DataContract' of"
            " versions v3.0.0 to v3.2 of the Open Data Contract Standard is read"
        )
    try:
        model = OpenDataContractStandard.model_validate(values)
    except pydantic.ValidationError as error:
        problems = [
            f"{place}:{source.line(*mistake['loc'])}: {'.'.join(map(str, mistake['loc']))}: {mistake['msg']}"
            for mistake in error.errors(include_input=False, include_url=False)
        ]
        raise Misconfigured("\n".join(problems)) from None
    return _contract(model, source)


def _scalars(node: Any) -> Iterator[Any]:
    """All nodes of YAML that have no parts."""
    waiting, passed = [node], set()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in passed:
            continue
        passed.add(id(part))
        if isinstance(part.value, list):
            waiting += [child for pair in part.value for child in (pair if isinstance(pair, tuple) else (pair,))]
        else:
            yield part


def _lines(node: Any, place: Place) -> Iterator[tuple[Place, int]]:
    """The line of each value; `place`: the keys that lead to the node."""
    yield place, node.start_mark.line + 1
    if not isinstance(node.value, list):
        return
    for number, part in enumerate(node.value):
        key, value = (part[0].value, part[1]) if isinstance(part, tuple) else (number, part)
        yield from _lines(value, (*place, key))


def _contract(model: Any, source: RulesSource) -> Contract:
    contract_name = model.name or model.dataProduct or model.id or source.place
    schemas = [
        ".".join(filter(None, (server.catalog or server.database, server.schema_))) for server in model.servers or ()
    ]
    levels = model.slaProperties or ()
    tables = []
    for number, table in enumerate(model.schema_ or ()):
        place: Place = ("schema", number)
        own_names = list(filter(None, (table.physicalName, table.name)))
        custom = [extra.value for extra in table.customProperties or () if extra.property == _DATASET and extra.value]
        names = [*custom, *(f"{schema}.{name}" for schema in schemas if schema for name in own_names), *own_names]
        properties = table.properties or ()
        sources = (name for column in properties for name in column.transformSourceObjects or ())
        tables.append(
            PromisedTable(
                name=table.name or f"schema[{number}]",
                names=tuple(dict.fromkeys(map(str, names))),
                columns=tuple(_columns(properties, place, source)),
                freshness=tuple(_freshness(levels, {*own_names}, model, source)),
                quality=tuple(_quality(table, place, source)),
                inputs=tuple(dict.fromkeys(sources)),
                line=source.line(*place),
            )
        )
    return Contract(place=source.place, name=str(contract_name), tables=tuple(tables))


def _columns(properties: Any, place: Place, source: RulesSource) -> Iterator[PromisedColumn]:
    for number, column in enumerate(properties):
        yield PromisedColumn(
            name=column.physicalName or column.name or f"properties[{number}]",
            logical=column.logicalType or "",
            physical=column.physicalType or "",
            required=bool(column.required),
            unique=bool(column.unique or (column.primaryKey and sum(bool(key.primaryKey) for key in properties) == 1)),
            line=source.line(*place, "properties", number),
        )


def _freshness(levels: Any, names: set[str], model: Any, source: RulesSource) -> Iterator[Freshness]:
    """Those of this table: a level without an element is of all."""
    for number, level in enumerate(levels):
        if level.property not in _OF_FRESHNESS:
            continue
        element = level.element or model.slaDefaultElement or ""
        if element and not any(part.strip().partition(".")[0] in names for part in element.split(",")):
            continue
        unit = _UNITS.get((level.unit or "").lower())
        try:
            age = unit * float(level.value) if unit else None
        except (TypeError, ValueError, OverflowError):
            age = None
        text = f"{level.property} {level.value} {level.unit or ''}".strip()
        yield Freshness(age=age, text=text, line=source.line("slaProperties", number))


def _quality(table: Any, place: Place, source: RulesSource) -> Iterator[QualityRule]:
    """The rules of the table, then those of its columns; a rule in words (`type: text`) can't be judged."""
    owners = [("", place, table)]
    owners += [
        (column.physicalName or column.name or "", (*place, "properties", number), column)
        for number, column in enumerate(table.properties or ())
    ]
    for column_name, owner_place, owner in owners:
        for number, rule in enumerate(owner.quality or ()):
            if rule.type != "text":
                metric = rule.metric or rule.rule or ""
                name = rule.name or metric or rule.dimension or rule.type or "quality"
                line = source.line(*owner_place, "quality", number)
                yield QualityRule(name=name, metric=metric, column=column_name, line=line)
