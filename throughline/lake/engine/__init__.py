"""The engine behind PySpark: sessions, files, ordered row streams, and the differences between Spark and Sail.

Imports nothing else of the pipeline but the choice of an engine and the listing of local files.
"""
