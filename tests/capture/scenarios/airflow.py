"""Two Airflow DAGs: SQL tasks on PostgreSQL, one of which fails, and a task that names its data sets itself; see
airflow.truth.json.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

DAILY = '''
"""Totals of the shop, once a day."""

from datetime import datetime

from airflow import DAG
from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator

PREPARE = [
    "CREATE TABLE customers (customer_id INT, name TEXT)",
    "CREATE TABLE orders (order_id INT, customer_id INT, amount INT, day DATE)",
    "CREATE TABLE customer_totals (customer TEXT, total INT)",
    "INSERT INTO customers VALUES (1, 'ann')",
    "INSERT INTO orders VALUES (10, 1, 12, '2024-05-01')",
]
TOTALS = """
    INSERT INTO customer_totals (customer, total)
    SELECT c.name AS customer, sum(o.amount) AS total
    FROM orders o JOIN customers c ON o.customer_id = c.customer_id
    WHERE o.day > '2024-01-01' GROUP BY c.name
"""
CREATE = "CREATE TABLE order_ids AS SELECT order_id FROM orders"
BROKEN = "INSERT INTO customer_totals SELECT name, no_such_column FROM customers"

with DAG("shop_daily", schedule=None, start_date=datetime(2024, 1, 1)) as dag:
    tasks = [
        SQLExecuteQueryOperator(task_id=name, conn_id="shop", sql=sql)
        for name, sql in (("prepare", PREPARE), ("totals", TOTALS), ("order_ids", CREATE))
    ]
    broken = SQLExecuteQueryOperator(task_id="broken", conn_id="shop", sql=BROKEN)
    tasks[0] >> tasks[1] >> tasks[2] >> broken

if __name__ == "__main__":
    dag.test()
'''

PUBLISH = '''
"""The shop's totals for everybody."""

from datetime import datetime

from airflow import DAG
from airflow.operators.bash import BashOperator
from openlineage.client.event_v2 import Dataset

with DAG("shop_publish", schedule=None, start_date=datetime(2024, 1, 1)) as dag:
    BashOperator(
        task_id="copy",
        bash_command="true",
        inlets=[Dataset(namespace="s3://shop", name="raw/totals")],
        outlets=[Dataset(namespace="s3://shop", name="public/totals")],
    )

if __name__ == "__main__":
    dag.test()
'''


def main() -> None:
    """Make an Airflow of its own in the folder, and run the DAGs once with this Python."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--events", type=Path, required=True)
    parser.add_argument("--jdbc", required=True, help="URL of the database")
    options = parser.parse_args()
    dags = options.data / "dags"
    dags.mkdir()
    for name, text in (("shop_daily", DAILY), ("shop_publish", PUBLISH)):
        (dags / f"{name}.py").write_text(text.lstrip())
    transport = {"type": "file", "log_file_path": str(options.events), "append": True}
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(options.data / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "default",
        "AIRFLOW_CONN_SHOP": options.jdbc.replace("jdbc:postgresql://", "postgresql://spark@"),
    }
    # Each in a process of its own, as workers do: the provider collects the queries of a process's hooks.
    for command in (["-m", "airflow", "db", "migrate"], *([str(dag)] for dag in sorted(dags.glob("*.py")))):
        subprocess.run([sys.executable, *command], cwd=options.data, env=environment, check=True)


if __name__ == "__main__":
    main()
