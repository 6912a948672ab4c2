"""Commands that check and repair a deployment."""
