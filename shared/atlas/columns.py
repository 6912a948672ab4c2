"""The columns of an asset as entities, and Purview's documented limits, to which texts are cut.

For each type of data set: the type of its columns, their mandatory attribute, their qualified names, and the entity
that holds them. Tables of databases hold columns of a type of their own; all others (files, topics, plain data sets)
have a `tabular_schema` that holds plain columns. The source is Microsoft's documentation of the built-in types and
public dumps of scanned entities; nothing was checked against a live account.

A name has at most 4 KB of UTF-8, a property 32 KB, an asset 2 MB (Microsoft's page on the catalog's limits). Nothing
longer is ever sent.
"""

from dataclasses import dataclass

from shared.naming.stores.families import bounded

LONGEST_NAME = 4 * 1024
"""Atlas accepts longer names, but takes minutes for each."""
LONGEST_PROPERTY = 32 * 1024
LARGEST_ASSET = 2 * 1024 * 1024

_ENDING = "…"


def name_within(name: str) -> str:
    """A name; one that is too long is cut and ends with a digest of the whole, so that it stays unique."""
    return bounded(name, LONGEST_NAME, most_bytes=LONGEST_NAME)


def text_within(text: str, limit: int = LONGEST_PROPERTY) -> str:
    """A text for people, cut at its end where it is too long."""
    if len(text.encode(errors="surrogatepass")) <= limit:
        return text
    head = text.encode(errors="surrogatepass")[: limit - len(_ENDING.encode())]
    return head.decode(errors="ignore") + _ENDING


def references_within(keys: list[tuple[str, str]], room: int) -> list[tuple[str, str]]:
    """The first of these assets whose references fit into so many bytes, as a server stores a reference: type, name,
    guid and JSON around them.
    """
    for number, (kind, name) in enumerate(keys):
        room -= len(kind) + len(name.encode(errors="surrogatepass")) + _BYTES_AROUND
        if room < 0:
            return keys[:number]
    return keys


_BYTES_AROUND = 200
"""Bytes of guid, keys and signs of one reference."""


SCHEMA_TYPE = "tabular_schema"
_UNKNOWN = "unknown"
"""The type of a column without a type in any event: the attribute is mandatory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRule:
    """How columns are written. `type_in`: the attribute that holds a column's type; `holder`: the relationship
    attribute by which a column names what holds it; `name`: the column's qualified name; `through_schema`: whether a
    `tabular_schema` holds them, not the asset itself.
    """

    type: str
    type_in: str = "data_type"
    holder: str = "table"
    name: str = "{asset}#{column}"
    through_schema: bool = False


_TABULAR = ColumnRule(
    type="column",
    type_in="type",
    holder="composeSchema",
    name="{asset}#__tabular_schema//{column}",
    through_schema=True,
)

_TYPED = {
    "azure_sql_table": "azure_sql_column",
    "azure_sql_view": "azure_sql_view_column",
    "azure_sql_mi_table": "azure_sql_mi_column",
    "mssql_table": "mssql_column",
    "azure_synapse_dedicated_sql_table": "azure_synapse_dedicated_sql_column",
    "azure_synapse_serverless_sql_table": "azure_synapse_serverless_sql_column",
    "databricks_table": "databricks_table_column",
    "fabric_lakehouse_table": "fabric_lakehouse_table_column",
    "fabric_warehouse_table": "fabric_warehouse_table_column",
    "azure_data_explorer_table": "azure_data_explorer_table_column",
    "azure_postgresql_table": "azure_postgresql_table_column",
    "postgresql_table": "postgresql_table_column",
    "azure_mysql_table": "azure_mysql_table_column",
    "snowflake_table": "snowflake_table_column",
    "oracle_table": "oracle_table_column",
    "bigquery_table": "bigquery_table_column",
}
_NAMED_OTHERWISE = {
    "databricks_table": "{asset}/columns/{column}",
    "snowflake_table": "{asset}/columns/{column}",
    "postgresql_table": "{asset}/columns/{column}",
}

COLUMN_RULES: dict[str, ColumnRule] = {
    **{
        table: ColumnRule(type=column, name=_NAMED_OTHERWISE.get(table, "{asset}#{column}"))
        for table, column in _TYPED.items()
    },
    "hive_table": ColumnRule(type="hive_column", type_in="type", name="{asset}"),
}
"""By type of the asset; all others have a tabular schema. `column_name` has the names of Hive's columns."""


PART_TYPES = frozenset({SCHEMA_TYPE, _TABULAR.type, *(rule.type for rule in COLUMN_RULES.values())})
"""Types of the parts of an asset, which are no data sets of their own."""


def column_rule(asset_type: str) -> ColumnRule:
    """How the columns of an asset of this type are written."""
    return COLUMN_RULES.get(asset_type, _TABULAR)


def schema_name(qualified_name: str) -> str:
    """The qualified name of an asset's tabular schema."""
    return name_within(f"{qualified_name}#__tabular_schema")


def column_name(asset_type: str, qualified_name: str, column: str) -> str:
    """The qualified name of a column of an asset."""
    if asset_type == "hive_table":  # database.table@host -> database.table.column@host
        table, _, host = qualified_name.rpartition("@")
        return name_within(f"{table}.{column}@{host}")
    return name_within(column_rule(asset_type).name.format(asset=qualified_name, column=column))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEntity:
    """A column as an entity; `data_type` is the value of its attribute `type_in`."""

    type: str
    qualified_name: str
    name: str
    type_in: str
    data_type: str

    @property
    def attributes(self) -> dict[str, str]:
        """Its attributes in the catalog, beside its qualified name."""
        return {"name": self.name, self.type_in: self.data_type}


def column_entities(
    asset_type: str, qualified_name: str, columns: tuple[tuple[str, str], ...]
) -> tuple[ColumnEntity, ...]:
    """The columns of an asset, from pairs of name and type; the first pair of each name counts."""
    rule = column_rule(asset_type)
    once: dict[str, str] = {}
    for name, kind in columns:
        once.setdefault(name, kind)
    return tuple(
        ColumnEntity(
            type=rule.type,
            qualified_name=column_name(asset_type, qualified_name, name),
            name=name_within(name),
            type_in=rule.type_in,
            data_type=text_within(kind or _UNKNOWN),
        )
        for name, kind in once.items()
        if name
    )


def weight(asset_type: str, columns: tuple[tuple[str, str], ...]) -> int:
    """The number of entities of an asset with these columns."""
    if not columns:
        return 1
    return 1 + len(columns) + column_rule(asset_type).through_schema
