"""How services are confined, and what the Swarm's engines cannot confine."""
