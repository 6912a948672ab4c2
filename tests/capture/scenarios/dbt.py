"""A dbt project on DuckDB: seeds, a view, a table, an incremental model, a snapshot, a model and a test that fail; see
dbt.truth.json.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

PROJECT: Mapping[str, str] = MappingProxyType(
    {
        "dbt_project.yml": """
name: shop
version: "1.0"
profile: shop
flags: {send_anonymous_usage_stats: false}
models: {shop: {+materialized: table}}
""",
        "profiles.yml": """
shop:
  target: local
  outputs: {local: {type: duckdb, path: shop.duckdb, threads: 1}}
""",
        "seeds/raw_customers.csv": "customer_id,name,region\n1,ann,north\n2,bob,south\n",
        "seeds/raw_orders.csv": "order_id,customer_id,amount,status\n10,1,12.5,open\n11,2,7.5,paid\n",
        "models/stg_orders.sql": """
{{ config(materialized="view") }}
select order_id, customer_id, amount from {{ ref("raw_orders") }} where status <> 'lost'
""",
        "models/customer_totals.sql": """
select c.name as customer, sum(o.amount) as total
from {{ ref("stg_orders") }} o join {{ ref("raw_customers") }} c on o.customer_id = c.customer_id
group by c.name
""",
        "models/order_log.sql": """
{{ config(materialized="incremental", unique_key="order_id") }}
select order_id, upper(status) as status from {{ ref("raw_orders") }}
""",
        "models/broken.sql": """
{{ config(tags=["broken"]) }}
select no_such_column from {{ ref("raw_orders") }}
""",
        "models/schema.yml": """
models:
  - name: customer_totals
    columns:
      - name: customer
        data_tests: [unique, {accepted_values: {values: [ann]}}]
""",
        "snapshots/customers.yml": """
snapshots:
  - name: customers_then
    relation: ref("raw_customers")
    config: {unique_key: customer_id, strategy: check, check_cols: [region]}
""",
    }
)
COMMANDS = (
    (0, ("seed",)),
    (0, ("run", "--exclude", "tag:broken")),
    (0, ("snapshot",)),
    (1, ("test",)),
    (0, ("run", "--select", "order_log")),
    (1, ("run", "--select", "tag:broken")),
)
"""The commands for dbt, each with its exit code."""


def main() -> None:
    """Make the project and run dbt's commands on it, with the wrapper that sends their events afterwards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--events", type=Path, required=True)
    options = parser.parse_args()
    folder = options.data / "project"
    for name, text in PROJECT.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip())
    wrapper = str(Path(sys.executable).parent / "dbt-ol")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(options.events),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
        "OPENLINEAGE_NAMESPACE": "default",
    }
    for code, command in COMMANDS:
        whole = [wrapper, *command, "--project-dir", ".", "--profiles-dir", "."]
        done = subprocess.run(whole, cwd=folder, env=environment, check=False)
        if done.returncode != code:
            raise RuntimeError(f"`{' '.join(whole)}` ended with {done.returncode}, not {code}")


if __name__ == "__main__":
    main()
