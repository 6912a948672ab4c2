"""One module for each command, in the groups that `--help` shows."""
