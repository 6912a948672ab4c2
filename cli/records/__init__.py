"""What several commands read and show of events, runs and processes."""
