"""Spark Connect: the server in this job, and two clients one after the other; see plan_connect.truth.json.

`--remote URL` is how the script runs itself as a client.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # in the captures' own environment
from _session import finish  # type: ignore[import-not-found]  # beside this script
from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def first(spark: SparkSession, data: Path) -> None:
    """Write by methods and by SQL, with a function of Python and one over whole frames."""
    orders = spark.read.parquet(f"{data}/in/orders")
    orders.where("amount > 1").select("id", f.upper("status").alias("status")).write.json(f"{data}/out/filtered")
    orders.createOrReplaceTempView("orders")
    spark.sql("CREATE TABLE totals USING delta AS SELECT status, sum(amount) AS total FROM orders GROUP BY status")
    label = f.udf(lambda status, amount: f"{status}{amount}", "string")
    orders.select("id", label("status", "amount").alias("label")).write.json(f"{data}/out/by_python")

    def every(batches):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - as users write them
        for batch in batches:
            yield pd.DataFrame({"id": batch["id"]})

    orders.select("id", "amount").mapInPandas(every, "id INT").write.json(f"{data}/out/mapped")
    kept_rows = orders.where("status = 'open'").select("id").localCheckpoint()
    kept_rows.write.json(f"{data}/out/checkpointed")


def second(spark: SparkSession, data: Path) -> None:
    """Change the table that the first client made; a view has the name of one of the other session."""
    spark.read.parquet(f"{data}/in/notes").createOrReplaceTempView("orders")
    spark.sql("""
        MERGE INTO totals t USING orders s ON t.status = s.word
        WHEN MATCHED THEN UPDATE SET t.total = t.total + s.number WHEN NOT MATCHED THEN INSERT (status) VALUES (s.word)
    """)
    spark.sql("SELECT word FROM orders").write.saveAsTable("words", format="parquet")
    notes = spark.readStream.schema("word STRING, number DOUBLE").parquet(f"{data}/in/notes").where("number > 0")
    writer = notes.select("word").writeStream.format("parquet").option("checkpointLocation", f"{data}/checkpoint")
    writer.trigger(availableNow=True).start(f"{data}/out/streamed").awaitTermination()


CLIENTS = {"first": first, "second": second}


def serve(data: Path) -> None:
    """Write the inputs, run the clients, and end."""
    spark = SparkSession.builder.appName("plan_connect").getOrCreate()
    spark.sql("SELECT * FROM VALUES (1, 120.0D, 'open'), (2, 80.0D, 'paid') AS t (id, amount, status)").write.parquet(
        f"{data}/in/orders"
    )
    spark.sql("SELECT * FROM VALUES ('open', 3.0D) AS t (word, number)").write.parquet(f"{data}/in/notes")
    service = getattr(spark._jvm.org.apache.spark.sql.connect.service, "SparkConnectService$")  # type: ignore[union-attr]
    url = f"sc://127.0.0.1:{getattr(service, 'MODULE$').localPort()}"
    own_variables = ("MASTER", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
    environment = {name: value for name, value in os.environ.items() if name not in own_variables}
    for name in CLIENTS:
        command = [sys.executable, __file__, "--data", str(data), "--remote", url, "--client", name]
        subprocess.run(command, env=environment, check=True)
    finish(spark)


def main() -> None:
    """Serve, or be one of the clients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--remote", help="the URL of the server")
    parser.add_argument("--client", choices=CLIENTS)
    options = parser.parse_args()
    if options.remote is None:
        serve(options.data)
    else:
        spark = SparkSession.builder.remote(options.remote).getOrCreate()
        CLIENTS[options.client](spark, options.data)
        spark.stop()


if __name__ == "__main__":
    main()
