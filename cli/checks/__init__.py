"""The checks of `throughline doctor`: each looks at one subject, and yields findings with codes."""
