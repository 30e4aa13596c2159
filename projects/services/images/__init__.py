"""The images of agents: what they are, how one is tried, and how an agent gets a newer one with a way back."""
