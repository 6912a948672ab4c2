"""The checks of `throughline doctor`: each examines one subject, and yields findings with codes."""
