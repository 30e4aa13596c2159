"""Builds the answer of `/metrics`: the counts of all processes, and numbers from the database."""
