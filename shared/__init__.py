"""Code that the functions, the command line and the Spark jobs share. Import it as `from shared.x import y` only."""
