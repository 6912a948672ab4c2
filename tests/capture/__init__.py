"""Golden events: real Spark jobs run with the real listener, and what it sent, kept for the tests to replay."""
