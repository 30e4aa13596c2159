"""How runs of agents ended: heard from the engine as it happens, and recorded once."""
