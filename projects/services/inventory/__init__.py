"""What this installation has on the engine: whether it is the right engine, unknown agents, and agents' memories."""
