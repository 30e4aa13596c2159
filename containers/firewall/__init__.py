"""Keeps agents away from this host and from private networks. Knows nothing of Docker."""
