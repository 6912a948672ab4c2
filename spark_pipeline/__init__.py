"""PySpark jobs over the archive: bronze, silver and gold tables of lineage, by the rules of `shared/`."""
