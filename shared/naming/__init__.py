"""OpenLineage data set -> (type, qualified name). Pure."""
