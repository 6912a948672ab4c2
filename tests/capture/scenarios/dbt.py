"""A dbt project on DuckDB: seeds, a view, a table, an incremental model, a snapshot, a model and a test that fail; see
dbt.truth.json.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from _dbt import dbt, write_project  # type: ignore[import-not-found]  # beside this script

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
    write_project(folder, PROJECT)
    for code, command in COMMANDS:
        dbt(command, folder, programs=Path(sys.executable).parent, events=options.events, code=code)


if __name__ == "__main__":
    main()
