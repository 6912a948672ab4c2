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
from shared.rules_file import Place, RulesSource
from shared.texts import visible
from throughline.contracts.standard_file import (
    CONTRACT,
    DATASET,
    TERMS,
    checked,
    custom_values,
    owner_of,
    read_standard_file,
)

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
_TERM = re.compile(r"[^@\s][^@]*(@[^@]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRule:
    """A rule of quality. `metric`: of the standard's library, empty for others; `column`: empty for the whole."""

    name: str
    metric: str = ""
    column: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedColumn:
    """A column. `terms`: of the glossary, as TERM or TERM@GLOSSARY."""

    name: str
    logical: str = ""
    physical: str = ""
    required: bool = False
    unique: bool = False
    terms: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """The age that the last write may have; None where the file's unit or value is not known. `text`: as it says it."""

    age: timedelta | None
    text: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedTable:
    """A schema object. `physical`: its name in the store; `dataset`: its place, if the contract names one; `names`: of
    its data set, the most certain first, and `certain`: the qualified name that its place gives, if it is known;
    `inputs`: from what it is made, if said, each with the names that it may have; `terms`: of the glossary.
    """

    name: str
    physical: str = ""
    dataset: str = ""
    description: str = ""
    terms: tuple[str, ...] = ()
    names: tuple[str, ...]
    certain: str = ""
    columns: tuple[PromisedColumn, ...]
    freshness: tuple[Freshness, ...]
    quality: tuple[QualityRule, ...]
    inputs: tuple[tuple[str, ...], ...]
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DataServer:
    """A server of a contract: its name, type, and what else it says (`host`, `database`, `location` …)."""

    name: str
    type: str
    values: Mapping[str, str]
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A contract; `place` is its path."""

    place: str
    id: str = ""
    name: str
    version: str = ""
    owner: str = ""
    servers: tuple[DataServer, ...] = ()
    tables: tuple[PromisedTable, ...]

    @property
    def title(self) -> str:
        """Name and version, for people."""
        return f"{self.name} {self.version}".strip()


def parse_contract(text: str, place: str) -> Contract:
    """Read a contract in YAML or JSON. Raises Misconfigured with all mistakes, each with its line."""
    return contract_of(read_standard_file(text, place))


def contract_of(source: RulesSource) -> Contract:
    """The contract in a file. Raises Misconfigured with all mistakes, each with its line."""
    try:
        from open_data_contract_standard.model import OpenDataContractStandard  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise Misconfigured(f"{source.place} is a contract: install `throughline[contracts]` to read it") from error
    version, kind = source.tables.get("apiVersion"), source.tables.get("kind")
    if kind != CONTRACT or not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise Misconfigured(
            f"{source.place}:{source.line('apiVersion')}: this is kind {kind!r}, version {version!r}: kind"
            " 'DataContract' of versions v3.0.0 to v3.2 of the Open Data Contract Standard is read"
        )
    return _contract(checked(source, OpenDataContractStandard), source)


def _contract(model: Any, source: RulesSource) -> Contract:
    contract_name = model.name or model.dataProduct or model.id or source.place
    schemas = [
        ".".join(filter(None, (server.catalog or server.database, server.schema_))) for server in model.servers or ()
    ]
    levels = model.slaProperties or ()
    problems: list[str] = []
    tables = []
    for number, table in enumerate(model.schema_ or ()):
        place: Place = ("schema", number)
        own_names = list(filter(None, (table.physicalName, table.name)))
        datasets = custom_values(table.customProperties, DATASET)
        names = [*datasets, *(f"{schema}.{name}" for schema in schemas if schema for name in own_names), *own_names]
        properties = table.properties or ()
        sources = ((name,) for column in properties for name in column.transformSourceObjects or ())
        tables.append(
            PromisedTable(
                name=table.name or f"schema[{number}]",
                physical=table.physicalName or table.name or "",
                dataset=datasets[0] if datasets else "",
                description=table.description or (model.description.purpose if model.description else "") or "",
                terms=_terms(table, place, source, problems),
                names=tuple(dict.fromkeys(names)),
                columns=tuple(_columns(properties, place, source, problems)),
                freshness=tuple(_freshness(levels, {*own_names}, model, source)),
                quality=tuple(_quality(table, place, source)),
                inputs=tuple(dict.fromkeys(sources)),
                line=source.line(*place),
            )
        )
    if problems:
        raise Misconfigured("\n".join(map(visible, problems)))
    return Contract(
        place=source.place,
        id=model.id or str(contract_name),
        name=str(contract_name),
        version=model.version or "",
        owner=owner_of(model.team),
        servers=tuple(_servers(model, source)),
        tables=tuple(tables),
    )


def _servers(model: Any, source: RulesSource) -> Iterator[DataServer]:
    for number, server in enumerate(model.servers or ()):
        values = server.model_dump(by_alias=True, exclude_none=True, exclude={"roles", "customProperties"})
        yield DataServer(
            name=server.server or f"servers[{number}]",
            type=(server.type or "").lower(),
            values={key: str(value) for key, value in values.items()},
            line=source.line("servers", number),
        )


def _terms(owner: Any, place: Place, source: RulesSource, problems: list[str]) -> tuple[str, ...]:
    """The glossary terms of a table or column; what is none is added to the problems."""
    terms = custom_values(owner.customProperties, TERMS)
    line = source.line(*place, "customProperties")
    problems += [
        f"{source.place}:{line}: {TERMS}: {term!r} is no term: write TERM or TERM@GLOSSARY"
        for term in terms
        if not _TERM.fullmatch(term)
    ]
    return terms


def _columns(properties: Any, place: Place, source: RulesSource, problems: list[str]) -> Iterator[PromisedColumn]:
    for number, column in enumerate(properties):
        yield PromisedColumn(
            name=column.physicalName or column.name or f"properties[{number}]",
            logical=column.logicalType or "",
            physical=column.physicalType or "",
            required=bool(column.required),
            unique=bool(column.unique or (column.primaryKey and sum(bool(key.primaryKey) for key in properties) == 1)),
            terms=_terms(column, (*place, "properties", number), source, problems),
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
