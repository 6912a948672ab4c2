"""The smallest job with lineage, as a notebook would hold it: two columns from one folder into another.

It sets nothing about lineage: all that is the platform's configuration.
"""

import sys

from pyspark.sql import SparkSession

data = sys.argv[1]
spark = SparkSession.builder.appName("nightly").getOrCreate()
spark.sql("SELECT * FROM VALUES (1, 'ann'), (2, 'bob') AS t (id, name)").coalesce(1).write.parquet(f"{data}/people")
spark.read.parquet(f"{data}/people").selectExpr("id", "upper(name) AS loud").coalesce(1).write.parquet(f"{data}/loud")
spark.stop()
