"""Translate one merged run: processes, columns, schemas, lifecycle events, facts."""
