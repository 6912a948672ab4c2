"""Stand-ins for Azure on one machine: functions host, Azurite, catalog, and the local world that runs them."""
