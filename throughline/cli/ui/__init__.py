"""Output, questions and exit codes of commands."""
