"""The configuration with which a Spark platform reports to a receiver: properties, files, steps, and exclusions. Pure.

Sources: the listener's pages https://openlineage.io/docs/integrations/spark/configuration/usage and
…/quickstart/quickstart_databricks (OpenLineage PR 3251 for the listeners of Databricks), and each platform's own
documentation, named in docs/get-started/*.md and in the table of runtimes.
"""
