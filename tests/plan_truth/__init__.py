"""Tests of the plan reader: TPC-DS in real Spark, compared with sqlglot's lineage of the queries' texts."""
