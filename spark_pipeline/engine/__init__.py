"""The engine behind PySpark: sessions, files, ordered row streams, and what Spark and Sail do differently.

Imports nothing else of the pipeline.
"""
