"""The `throughline` command."""
