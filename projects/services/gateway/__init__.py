"""What the gateway is to know of a project, and how it is told."""
