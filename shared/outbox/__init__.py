"""Outbox: what waits for a receiver, a target of forwarding or a channel of the watch, and how it is offered."""
