"""Commands that run on this machine alone: demo, up, send, translate."""
