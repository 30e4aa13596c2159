"""What people own: agents, each in a container of its own, and what happens to them."""
