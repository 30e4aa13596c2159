"""The SQLite backend, which limits the wait for the lock and reports it as such."""
