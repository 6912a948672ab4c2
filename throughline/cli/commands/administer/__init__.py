"""Commands that set up platforms and the catalog."""
