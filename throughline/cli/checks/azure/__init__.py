"""`throughline doctor --group`: a deployment in Azure, looked at from outside. It reads, and changes nothing."""
