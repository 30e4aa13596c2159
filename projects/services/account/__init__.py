"""Exports and deletes everything that belongs to one account."""
