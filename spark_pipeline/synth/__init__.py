"""Made-up histories in the archive's layout, of real events: for tests and measurements. No Spark in here."""
