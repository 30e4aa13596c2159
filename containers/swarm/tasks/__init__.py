"""What an agent's service looks like, and what its tasks say. Without calls to the engine."""
