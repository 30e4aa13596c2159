"""What is noted about agents in configs of the Swarm, because it must outlast their services."""
