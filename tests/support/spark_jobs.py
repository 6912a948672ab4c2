"""The session of Spark jobs in tests."""

from local.spark.job import SMALL_SESSION

QUICK_SESSION = {**SMALL_SESSION, "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""SMALL_SESSION without compiled expressions, on which lineage does not depend: a tenth of a job's CPU time. The demo
and the tests of compatibility run with them.
"""
