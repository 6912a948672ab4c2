"""Rows of an application: its facts, the entries of its runs, the processes that it wrote."""
