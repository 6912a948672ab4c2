"""Catalog names: OpenLineage data set -> (type, qualified name). Pure; imports rules_file, secrets and versions."""
