"""The built-in types as a table of rules.

A rule names a type, its super types and its own attributes. An attribute is written `name` (a string) or `name:type`,
followed by `!` if it is mandatory and `!*` if it is mandatory and unique. `columns` names the type of a table's
columns, and defines a relationship `<table>_columns`.

The mandatory attributes and the names of relationship ends are from Microsoft's documentation of the built-in types and
public dumps of them. Parents (a table's schema, a schema's database) are left out: Purview accepts entities without
them, but Atlas would require them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRule:
    """An entity type: its name, its super types and its own attributes."""

    name: str
    supers: tuple[str, ...] = ("DataSet",)
    attributes: str = ""
    columns: str = ""
    service: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationRule:
    """A relationship. An end is `Type.attribute`, followed by `[]` if it holds many; end 1 contains end 2.

    `tags`: the direction in which classifications propagate, from Atlas' base model.
    """

    name: str
    category: str
    end1: str
    end2: str
    tags: str = "NONE"


BASE = (
    TypeRule(name="Referenceable", supers=(), attributes="qualifiedName!*"),
    TypeRule(
        name="Asset",
        supers=("Referenceable",),
        attributes="name! displayName description userDescription owner",
    ),
    TypeRule(name="DataSet", supers=("Asset",)),
    TypeRule(name="Infrastructure", supers=("Asset",)),
    TypeRule(name="ProcessExecution", supers=("Asset",)),
    TypeRule(name="Process", supers=("Asset",), attributes="inputs:array<DataSet> outputs:array<DataSet>"),
    TypeRule(name="tabular_schema"),
    TypeRule(name="column", attributes="type! length:int isNullable:boolean"),
    TypeRule(name="azure_synapse_operation", supers=("Process",), attributes="columnMapping", service="Azure Synapse"),
    # Our own types: column lineage for a plain Atlas. Purview has neither.
    TypeRule(name="throughline_column", service="throughline"),
    TypeRule(name="throughline_column_lineage", supers=("Process",), service="throughline"),
)

_FILE = "path isFile:boolean size:long createTime:date modifiedTime:date"
_RESOURCE_SET = "partitionCount:long totalSizeBytes:long schemaCount:long"
_TABLE = "createTime:date modifiedTime:date"
_COLUMN = "data_type! length:int precision:int scale:int nullable:boolean"

FILES = (
    TypeRule(name="azure_datalake_gen2_filesystem", service="Azure Data Lake Storage Gen2"),
    TypeRule(name="azure_datalake_gen2_path", attributes=_FILE, service="Azure Data Lake Storage Gen2"),
    TypeRule(name="azure_datalake_gen2_resource_set", attributes=_RESOURCE_SET, service="Azure Data Lake Storage Gen2"),
    TypeRule(name="azure_datalake_gen1_path", attributes=_FILE, service="Azure Data Lake Storage Gen1"),
    TypeRule(name="azure_blob_container", service="Azure Blob Storage"),
    TypeRule(name="azure_blob_path", attributes=_FILE, service="Azure Blob Storage"),
    TypeRule(name="azure_blob_resource_set", attributes=_RESOURCE_SET, service="Azure Blob Storage"),
    TypeRule(name="aws_s3_v2_directory", attributes="objectPrefix", service="Amazon S3"),
    TypeRule(name="aws_s3_v2_resource_set", attributes=_RESOURCE_SET, service="Amazon S3"),
    # As in Atlas' own model for file systems, where the path is mandatory.
    TypeRule(
        name="fs_path",
        attributes="path! isFile:boolean isSymlink:boolean fileSize:long createTime:date modifiedTime:date group",
        service="File system",
    ),
    TypeRule(name="hdfs_path", supers=("fs_path",), attributes="clusterName nameServiceId", service="Hadoop"),
)

TABLES = (
    TypeRule(name="azure_sql_table", attributes=_TABLE, columns="azure_sql_column", service="Azure SQL Database"),
    TypeRule(name="azure_sql_view", attributes=_TABLE, columns="azure_sql_view_column", service="Azure SQL Database"),
    TypeRule(name="azure_sql_mi_table", columns="azure_sql_mi_column", service="Azure SQL Managed Instance"),
    TypeRule(name="mssql_table", attributes=_TABLE, columns="mssql_column", service="SQL Server"),
    TypeRule(
        name="azure_synapse_dedicated_sql_table",
        columns="azure_synapse_dedicated_sql_column",
        service="Azure Synapse",
    ),
    TypeRule(
        name="azure_synapse_serverless_sql_table",
        columns="azure_synapse_serverless_sql_column",
        service="Azure Synapse",
    ),
    TypeRule(name="databricks_table", columns="databricks_table_column", service="Azure Databricks"),
    TypeRule(name="fabric_lakehouse", service="Fabric"),
    TypeRule(name="fabric_lakehouse_table", columns="fabric_lakehouse_table_column", service="Fabric"),
    TypeRule(name="fabric_warehouse_table", columns="fabric_warehouse_table_column", service="Fabric"),
    TypeRule(
        name="azure_cosmosdb_sqlapi_collection",
        attributes="resourceLink!",
        service="Azure Cosmos DB",
    ),
    TypeRule(
        name="azure_data_explorer_table",
        columns="azure_data_explorer_table_column",
        service="Azure Data Explorer",
    ),
    TypeRule(
        name="azure_postgresql_table",
        columns="azure_postgresql_table_column",
        service="Azure Database for PostgreSQL",
    ),
    TypeRule(name="postgresql_table", columns="postgresql_table_column", service="PostgreSQL"),
    TypeRule(name="azure_mysql_table", columns="azure_mysql_table_column", service="Azure Database for MySQL"),
    TypeRule(name="snowflake_table", columns="snowflake_table_column", service="Snowflake"),
    TypeRule(name="oracle_table", columns="oracle_table_column", service="Oracle"),
    TypeRule(name="bigquery_table", columns="bigquery_table_column", service="Google BigQuery"),
    TypeRule(name="kafka_topic", attributes="topic! uri! partitionCount:int", service="Kafka"),
)

# Terms as in Atlas' own model, without categories and relations between terms.
GLOSSARY = (
    TypeRule(name="__internal", supers=()),
    TypeRule(
        name="AtlasGlossary",
        supers=("__internal",),
        attributes="qualifiedName!* name! shortDescription longDescription language usage"
        " additionalAttributes:map<string,string>",
    ),
    TypeRule(
        name="AtlasGlossaryTerm",
        supers=("__internal",),
        attributes="qualifiedName!* name! shortDescription longDescription examples:array<string> abbreviation usage"
        " additionalAttributes:map<string,string>",
    ),
)

# Hive's columns have a `type` instead of a `data_type`, and its tables know their database.
HIVE = (
    TypeRule(name="hive_db", supers=("Asset",), attributes="clusterName location", service="Hive"),
    TypeRule(name="hive_table", attributes="tableType temporary:boolean createTime:date", service="Hive"),
    TypeRule(name="hive_column", attributes="type! comment position:int", service="Hive"),
)

RELATIONS = (
    RelationRule(
        name="dataset_process_inputs",
        category="AGGREGATION",
        end1="Process.inputs[]",
        end2="DataSet.inputToProcesses[]",
        tags="TWO_TO_ONE",
    ),
    RelationRule(
        name="process_dataset_outputs",
        category="AGGREGATION",
        end1="Process.outputs[]",
        end2="DataSet.outputFromProcesses[]",
        tags="ONE_TO_TWO",
    ),
    RelationRule(
        name="tabular_schema_datasets",
        category="ASSOCIATION",
        end1="DataSet.tabular_schema",
        end2="tabular_schema.associatedDataSets[]",
    ),
    RelationRule(
        name="tabular_schema_columns",
        category="COMPOSITION",
        end1="tabular_schema.columns[]",
        end2="column.composeSchema",
    ),
    RelationRule(
        name="throughline_asset_columns",
        category="COMPOSITION",
        end1="DataSet.throughlineColumns[]",
        end2="throughline_column.asset",
    ),
    RelationRule(
        name="throughline_process_columns",
        category="COMPOSITION",
        end1="azure_synapse_operation.throughlineColumnLineages[]",
        end2="throughline_column_lineage.process",
    ),
    RelationRule(
        name="AtlasGlossaryTermAnchor",
        category="COMPOSITION",
        end1="AtlasGlossary.terms[]",
        end2="AtlasGlossaryTerm.anchor",
    ),
    RelationRule(
        name="AtlasGlossarySemanticAssignment",
        category="ASSOCIATION",
        end1="AtlasGlossaryTerm.assignedEntities[]",
        end2="Referenceable.meanings[]",
        tags="ONE_TO_TWO",
    ),
    RelationRule(name="hive_table_db", category="AGGREGATION", end1="hive_db.tables[]", end2="hive_table.db"),
    RelationRule(
        name="hive_table_columns",
        category="COMPOSITION",
        end1="hive_table.columns[]",
        end2="hive_column.table",
    ),
)

COLUMN_ATTRIBUTES = _COLUMN
TYPES = (*BASE, *GLOSSARY, *FILES, *TABLES, *HIVE)
