"""How blobs are found: the words of the one setting that chooses."""

EVENT_GRID = "eventGrid"
"""Event Grid posts to the webhook, as in Azure by default."""
POLLING = "polling"
"""The host polls a real account."""
EMULATOR = "emulator"
"""The host polls the emulator, as under `func start`."""
DELIVERIES = (EVENT_GRID, POLLING, EMULATOR)
