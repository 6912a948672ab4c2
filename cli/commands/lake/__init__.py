"""`throughline lake`: the tables that Spark makes of the archive."""
