"""The gateway on a Docker host: its networks, its container, and the connection to its control side."""
