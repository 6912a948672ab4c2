"""Settings: their table, their values, and the only reader of the environment."""
