"""Which Throughline a command talks to, and by which settings."""
