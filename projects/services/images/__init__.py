"""Images of agents: describes and tries them, and updates agents with a way back."""
