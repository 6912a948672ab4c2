"""The plan reader held to truth: TPC-DS in real Spark, compared with what sqlglot makes of the queries' texts."""
