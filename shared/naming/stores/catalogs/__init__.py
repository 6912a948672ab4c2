"""Catalogs of tables: Hive, Iceberg, Unity Catalog."""
