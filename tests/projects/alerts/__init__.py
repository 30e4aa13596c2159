"""Who is told of agents, by which ways, and what becomes of the messages."""
