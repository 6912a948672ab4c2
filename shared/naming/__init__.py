"""Catalog names: OpenLineage data set -> (type, qualified name). Pure; imports errors, secrets and versions."""
