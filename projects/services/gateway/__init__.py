"""What the gateway must know about a project, and how Berth tells it."""
