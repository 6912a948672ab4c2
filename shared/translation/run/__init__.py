"""One merged run -> its lineage: processes, columns, facts, schemas. Pure."""
