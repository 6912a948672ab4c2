"""Choose the Throughline that a command talks to, and its settings."""
