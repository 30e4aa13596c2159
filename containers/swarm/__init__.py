"""The engine of a Docker Swarm: one service for each agent, which the Swarm places, restarts and moves."""
