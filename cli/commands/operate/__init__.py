"""Commands that look after a deployment and repair it."""
