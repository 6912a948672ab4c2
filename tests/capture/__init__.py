"""Golden events: run real Spark jobs with the real listener, and keep its events for the tests to replay."""
