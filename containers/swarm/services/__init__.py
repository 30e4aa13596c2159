"""The services of agents: found, created, started, stopped and removed, with their credentials."""
