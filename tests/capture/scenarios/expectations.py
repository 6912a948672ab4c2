"""Great Expectations tests a CSV file and a table of PostgreSQL; its OpenLineage action sends the results; see
expectations.truth.json.
"""

import argparse
import os
from pathlib import Path
from urllib.parse import urlsplit

import great_expectations as gx  # type: ignore[import-not-found]  # it is only in the system's own environment
import psycopg2  # type: ignore[import-untyped]  # it ships no types
from great_expectations import expectations as expect
from great_expectations.core.batch_definition import BatchDefinition  # type: ignore[import-not-found]  # as above
from great_expectations.core.run_identifier import RunIdentifier  # type: ignore[import-not-found]  # as above
from great_expectations.data_context import AbstractDataContext  # type: ignore[import-not-found]  # as above
from great_expectations.data_context.types.resource_identifiers import (  # type: ignore[import-not-found]  # as above
    ExpectationSuiteIdentifier,
    ValidationResultIdentifier,
)
from openlineage.common.provider.great_expectations.action import (  # type: ignore[import-untyped]  # it ships no types
    OpenLineageValidationAction,
)

ORDERS = "order_id,customer_id,amount\n10,1,12.5\n11,,7.5\n12,2,40.0\n"
TABLE = (
    "CREATE TABLE customers (customer_id INT, name TEXT)",
    "INSERT INTO customers VALUES (1, 'ann'), (2, 'bob'), (2, 'eve')",
)


def _tests_of_orders() -> list[expect.Expectation]:
    """Two of these fail: an order has no customer, and one costs too much."""
    return [
        expect.ExpectTableRowCountToEqual(value=3),
        expect.ExpectColumnValuesToNotBeNull(column="order_id"),
        expect.ExpectColumnValuesToNotBeNull(column="customer_id"),
        expect.ExpectColumnMinToBeBetween(column="amount", min_value=0),
        expect.ExpectColumnMaxToBeBetween(column="amount", max_value=30),
        expect.ExpectColumnSumToBeBetween(column="amount", min_value=1),
        expect.ExpectColumnQuantileValuesToBeBetween(
            column="amount", quantile_ranges={"quantiles": [0.5], "value_ranges": [[10, 20]]}
        ),
    ]


def _tests_of_customers() -> list[expect.Expectation]:
    """The first fails: two customers have one id."""
    return [
        expect.ExpectColumnValuesToBeUnique(column="customer_id"),
        expect.ExpectColumnUniqueValueCountToBeBetween(column="customer_id", min_value=1, max_value=10),
        expect.ExpectColumnToExist(column="name"),
    ]


def main() -> None:
    """Make the data, and run a checkpoint for each of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--events", type=Path, required=True)
    parser.add_argument("--jdbc", required=True)
    options = parser.parse_args()
    os.environ |= {
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(options.events),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
        "OPENLINEAGE_NAMESPACE": "quality",
    }
    server = urlsplit(options.jdbc.removeprefix("jdbc:"))
    address = f"postgresql://spark@{server.netloc}{server.path}"
    with psycopg2.connect(address) as connection, connection.cursor() as cursor:
        for statement in TABLE:
            cursor.execute(statement)
    connection.close()
    files = options.data / "incoming"
    files.mkdir()
    (files / "orders.csv").write_text(ORDERS)

    context = gx.get_context(mode="ephemeral")
    orders = context.data_sources.add_pandas_filesystem("files", base_directory=files)
    batch = orders.add_csv_asset("orders").add_batch_definition_path("all", path="orders.csv")
    _check(context, "orders", batch, _tests_of_orders())
    shop = context.data_sources.add_postgres("shop", connection_string=address)
    table = shop.add_table_asset("customers", table_name="customers", schema_name="public")
    _check(context, "customers", table.add_batch_definition_whole_table("all"), _tests_of_customers())


def _check(context: AbstractDataContext, name: str, batch: BatchDefinition, tests: list[expect.Expectation]) -> None:
    """Validate, and call the action as a checkpoint of Great Expectations before 1.0 did: since 1.0 a checkpoint stores
    its actions as JSON, and this one has no JSON.
    """
    suite = context.suites.add(gx.ExpectationSuite(name=name, expectations=tests))
    validator = context.get_validator(batch_request=batch.build_batch_request(), expectation_suite=suite)
    result = validator.validate(result_format="SUMMARY")
    if result.success:
        raise RuntimeError(f"the tests of {name} should not all pass")
    run = RunIdentifier(run_name=name)
    result.meta |= {"expectation_suite_name": name, "run_id": run}
    identifier = ValidationResultIdentifier(
        expectation_suite_identifier=ExpectationSuiteIdentifier(name=name),
        run_id=run,
        batch_identifier=validator.active_batch_id,
    )
    action = OpenLineageValidationAction(
        name="openlineage", job_name=f"check.{name}", job_description=f"Tests of the {name}."
    )
    action._run(result, identifier, validator)


if __name__ == "__main__":
    main()
