"""dbt's own files as OpenLineage events, for projects that run without OpenLineage's wrapper `dbt-ol`."""
