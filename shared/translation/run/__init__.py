"""Unite a run with its plan, and translate it: processes, columns, schemas, lifecycle events, facts."""
