"""Events, runs and processes as several commands read and show them."""
