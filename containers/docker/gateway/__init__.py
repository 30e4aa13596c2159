"""The gateway on a Docker host: its networks, its container, and the way to its control side."""
