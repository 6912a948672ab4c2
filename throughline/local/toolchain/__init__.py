"""Java, Node and Python of the versions that Spark and the stand-ins need."""
