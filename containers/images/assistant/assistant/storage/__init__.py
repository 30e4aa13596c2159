"""Everything that survives a restart, in one SQLite database on the agent's volume."""
