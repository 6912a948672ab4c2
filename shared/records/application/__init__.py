"""What is on record of an application: its facts, the entries of its runs, the processes it wrote."""
