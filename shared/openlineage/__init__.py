"""OpenLineage events: decode, select, merge the events of a run. Pure; imports `shared.errors` only."""
