"""What can be set: a table, the values that it gives, and the only reader of the environment."""
