"""Databases, warehouses and Kafka: a data set is a table or a topic of a server."""
