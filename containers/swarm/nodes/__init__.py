"""The machines of a Swarm: what they are, and whether they are alive."""
