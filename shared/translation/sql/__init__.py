"""SQL statements: tables and columns of a text, and the text without its literals. Pure."""
