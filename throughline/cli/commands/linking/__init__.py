"""`throughline link`: lineage between data and what other systems made of it."""
