"""Real events, damaged and reordered: `python -m tests.fuzz`, and its short version among the tests."""
