"""What the engine holds of this installation: whose engine it is, agents that nobody knows, and what agents keep."""
