"""SQLite: a wait for its lock that ends, and is told as such."""
