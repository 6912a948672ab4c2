"""A merged run -> lineage, and the lineage of many runs added up. Pure."""
