"""The agents' network in a Swarm, and the gateway on it."""
