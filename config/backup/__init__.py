"""Creates and restores archives of the database and, on request, of the agents' memories."""
