"""What bounds agents: memory, disk, budgets, and where they may go."""
