"""The rules file: its tables, its text with lines, its mistakes, its JSON Schema."""
