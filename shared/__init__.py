"""The package that both functions, the command line and Spark import: always as `from shared.x import y`."""
