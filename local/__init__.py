"""What stands in for Azure on one machine: functions host, Azurite, catalog, and the world that runs them."""
