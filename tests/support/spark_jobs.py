"""The session of Spark jobs in tests."""

from local.spark.job import SMALL_SESSION

QUICK_SESSION = {**SMALL_SESSION, "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""SMALL_SESSION without compiled expressions: lineage does not depend on them, and they take a tenth of the CPU time of
a short job. The demo and `tests.spark_listener.compatibility` run with compiled expressions.
"""
