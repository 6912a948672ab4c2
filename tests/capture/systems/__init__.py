"""The systems besides Spark that scenarios need, started for one capture and ended with it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType

from tests.capture.systems.databricks import databricks
from tests.capture.systems.kafka import kafka
from tests.capture.systems.postgres import postgres
from tests.capture.systems.pythons import airflow, dbt, great_expectations, python_client
from tests.capture.systems.system import System, SystemsError

__all__ = ["SYSTEMS", "System", "SystemsError", "system"]

SYSTEMS: Mapping[str, Callable[[], AbstractContextManager[System]]] = MappingProxyType(
    {
        "airflow": airflow,
        "databricks": databricks,
        "dbt": dbt,
        "great_expectations": great_expectations,
        "kafka": kafka,
        "postgres": postgres,
        "python_client": python_client,
    }
)
"""The systems that a job.json may name. A further system is one line here."""


def system(name: str) -> AbstractContextManager[System]:
    """Run a system while the block lasts. Raises SystemsError, whose message says what to do."""
    if name not in SYSTEMS:
        raise SystemsError(f"there is no system {name}: there are {', '.join(SYSTEMS)}")
    return SYSTEMS[name]()
