"""Parts that stand around the project in tests: what Azure puts in front of it, and what sends to it."""
