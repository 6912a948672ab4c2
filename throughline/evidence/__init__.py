"""Evidence: what an auditor asks of a data set or a classification, with the events that the answer rests on."""
