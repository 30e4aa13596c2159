"""The connection to the database: every wait for it ends, and its faults are distinguished from our own errors."""
