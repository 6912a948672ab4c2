"""What a Spark platform must be told to report to a receiver: properties, files, steps, and what to leave alone. Pure.

Sources: the listener's pages https://openlineage.io/docs/integrations/spark/configuration/usage and
…/quickstart/quickstart_databricks (OpenLineage PR 3251 for the listeners of Databricks), and each platform's own
documentation, named in docs/*.md and in the table of runtimes.
"""

from cli.platforms.configuration import NEVER, Configuration, PlatformError, Wanted, as_text, configuration
from cli.platforms.runtimes import RUNTIMES, Proof, Runtime, runtime_of, runtimes_of, table
from cli.platforms.table import DATABRICKS_LISTENER, PLATFORMS
from cli.platforms.texts import AZURE_DATABRICKS

__all__ = [
    "AZURE_DATABRICKS",
    "DATABRICKS_LISTENER",
    "NEVER",
    "PLATFORMS",
    "RUNTIMES",
    "Configuration",
    "PlatformError",
    "Proof",
    "Runtime",
    "Wanted",
    "as_text",
    "configuration",
    "runtime_of",
    "runtimes_of",
    "table",
]
