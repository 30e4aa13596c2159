"""The service's side of the gateway: what it is told, and how. Knows no project; the other side is an image."""
