"""Generated histories in the archive's layout, made of real events: for tests and measurements. No Spark in here."""
