"""What outlives a restart, in one database on the agent's volume."""
