"""The places of a logged data set: its source, as MLflow's kinds of sources describe it, as OpenLineage names it.

The keys are those of `to_dict` in `mlflow/data/*_source.py` (3.17).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from shared.secrets import address_without_secrets, without_secrets
from shared.translation.sql.statement_reader import read_statement
from throughline.locations import dataset_at
from throughline.models.training import LoggedDataset

_DATABRICKS, _HUB = "databricks://", "hugging_face"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlaces:
    """Namespaces and names of a source's data sets, without secrets; `unknown`: why there are none, for people."""

    datasets: tuple[tuple[str, str], ...] = ()
    unknown: str = ""


class WrongSourceError(ValueError):
    """MLflow's record of a source can't be read; the text says why, without the record."""


def places_of(dataset: LoggedDataset, tables: str) -> SourcePlaces:
    """The places of a logged data set. `tables`: the namespace of tables that are named without a place, empty if it is
    not known. Raises WrongSourceError.
    """
    source = decoded(dataset.source, "source")
    unknown = ""
    for key, rule in _RULES.items():
        value = source.get(key)
        if not isinstance(value, str) or not value:
            continue
        named_by = _hub if dataset.source_type == _HUB else rule
        datasets = tuple(dict.fromkeys(without_secrets(*pair) for pair in named_by(value, tables)))
        if datasets:
            return SourcePlaces(datasets=datasets)
        unknown = unknown or _WHY[rule]
    return SourcePlaces(unknown=unknown or f"a source of type {dataset.source_type!r} names no place")


def columns_of(dataset: LoggedDataset) -> tuple[tuple[str, str], ...]:
    """Names and types of the columns, as far as MLflow has them by names. Raises WrongSourceError."""
    if not dataset.schema:
        return ()
    columns = decoded(dataset.schema, "schema").get("mlflow_colspec")
    specs = columns if isinstance(columns, list) else ()
    return tuple(
        (str(spec["name"]), str(spec.get("type") or ""))
        for spec in specs
        if isinstance(spec, dict) and spec.get("name")
    )


def decoded(text: str, subject: str) -> Mapping[str, Any]:
    """MLflow's JSON of a source or schema. Raises WrongSourceError."""
    try:
        return msgspec.json.decode(text.encode("utf-8", "surrogatepass"), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise WrongSourceError(f"its {subject} is no JSON object") from error


def _located(location: str, tables: str) -> Iterator[tuple[str, str]]:
    """A path on Databricks is one of its file system."""
    if tables.startswith(_DATABRICKS) and location.startswith("/"):
        location = f"dbfs:{location}"
    place = dataset_at(location)
    if place:
        yield place


def _table(name: str, tables: str) -> Iterator[tuple[str, str]]:
    if tables:
        yield tables, address_without_secrets(name.replace("`", ""))


def _statement(sql: str, tables: str) -> Iterator[tuple[str, str]]:
    statement = read_statement(sql)
    for source in statement.sources if statement else ():
        if source.path:
            yield from _located(source.path, tables)
        else:
            yield from _table(".".join(source.parts), tables)


def _hub(name: str, _: str) -> Iterator[tuple[str, str]]:
    yield "hf://datasets", name


_Rule = Callable[[str, str], Iterator[tuple[str, str]]]
_RULES: Mapping[str, _Rule] = {
    "path": _located,
    "uri": _located,
    "url": _located,
    "delta_table_name": _table,
    "table_name": _table,
    "sql": _statement,
}
"""By key of a source: the first that gives a place."""
_WHY: Mapping[_Rule, str] = {
    _located: "its path is no address, and not absolute",
    _table: "its table has no place: give --namespace, such as databricks://HOST",
    _statement: "its SQL names no table with a place: --namespace gives one",
}
