"""The job of a run: its stable identity, its platform and its names. Pure."""
