"""Child processes that end with their parent, and loopback listeners."""
