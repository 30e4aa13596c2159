"""Faults of the database, under a real server and a real watcher."""
