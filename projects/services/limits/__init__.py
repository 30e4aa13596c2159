"""The limits of agents: memory, disk, budgets, and permissions."""
