"""The process: its door for agents, its start and its end."""
