"""Read entities, relationships and search results from Atlas v2 and Purview, as values of the port."""
