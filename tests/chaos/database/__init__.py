"""Faults of the database, with a real server and a real watcher."""
