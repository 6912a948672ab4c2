"""The smallest job with lineage, as in a notebook: it copies two columns from one folder into another.

It configures nothing for lineage, which is left to the platform's configuration.
"""

import sys

from pyspark.sql import SparkSession

data = sys.argv[1]
spark = SparkSession.builder.appName("nightly").getOrCreate()
spark.sql("SELECT * FROM VALUES (1, 'ann'), (2, 'bob') AS t (id, name)").coalesce(1).write.parquet(f"{data}/people")
spark.read.parquet(f"{data}/people").selectExpr("id", "upper(name) AS loud").coalesce(1).write.parquet(f"{data}/loud")
spark.stop()
