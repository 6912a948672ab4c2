"""`throughline lake`: lineage as tables, made from the archive."""
