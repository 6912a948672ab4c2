"""What a Spark platform must be told to report to a receiver: properties, files, steps, and what to leave alone. Pure.

Sources: the listener's pages https://openlineage.io/docs/integrations/spark/configuration/usage and
…/quickstart/quickstart_databricks (OpenLineage PR 3251 for the listeners of Databricks), and each platform's own
documentation, named in docs/get-started/*.md and in the table of runtimes.
"""
