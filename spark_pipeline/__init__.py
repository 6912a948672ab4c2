"""PySpark jobs over the archive: bronze, silver and gold tables of lineage. The meaning is that of `shared/`."""
