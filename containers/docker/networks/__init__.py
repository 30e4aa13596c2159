"""The network of the agents, and what keeps them on it."""
