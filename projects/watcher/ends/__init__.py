"""Ends of agents' runs: received as events of the engine, and recorded once."""
