"""SQL statements: their tables and columns, and redaction of their literals. Only these modules import sqlglot."""
