"""The values of the setting that selects how blobs are found."""

EVENT_GRID = "eventGrid"
"""Event Grid posts to the webhook, as in Azure by default."""
POLLING = "polling"
"""The host polls a real account."""
EMULATOR = "emulator"
"""The host polls the emulator, as under `func start`."""
DELIVERIES = (EVENT_GRID, POLLING, EMULATOR)
